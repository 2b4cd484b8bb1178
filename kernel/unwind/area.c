// SPDX-License-Identifier: GPL-2.0
/*
 * What is mapped at an address.
 *
 * A walk meets the same few mappings again and again, so it keeps what it saw.
 * Another thread may unmap all of it meanwhile: then reads fail, or find what
 * the mapping held when the walk met it, which is what the stack was about.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>

#include "internal.h"

/* Called with @vma locked. */
static void fill_area(struct unwind_area *area, const struct vm_area_struct *vma)
{
	*area = (struct unwind_area) {
		.start		= vma->vm_start,
		.end		= vma->vm_end,
		.exec		= vma->vm_flags & VM_EXEC,
		.pgoff		= vma->vm_pgoff,
		.table.error	= -EAGAIN,
	};
	if (area->exec && vma->vm_file)
		area->file = get_file(vma->vm_file);
}

static int lock_mm(struct mm_struct *mm)
{
	if (unwind_must_not_wait())
		return mmap_read_trylock(mm) ? 0 : -EINTR;
	return mmap_read_lock_killable(mm);
}

static int look_up(struct mm_struct *mm, unsigned long addr, struct unwind_area *area)
{
	struct vm_area_struct *vma;
	int ret;

	vma = lock_vma_under_rcu(mm, addr);
	if (vma) {
		fill_area(area, vma);
		vma_end_read(vma);
		return 0;
	}

	/* Nothing there, or a writer is at work. */
	ret = lock_mm(mm);
	if (ret)
		return ret;
	vma = vma_lookup(mm, addr);
	if (vma)
		fill_area(area, vma);
	mmap_read_unlock(mm);
	return vma ? 0 : -ENOENT;
}

static void put_area(struct unwind_area *area)
{
	if (area->file)
		fput(area->file);
	area->file = NULL;
	area->end = 0;
}

/**
 * unwind_area_find - what is mapped at an address
 * @walk: the walk
 * @addr: a user-space address, or none
 *
 * Context: May sleep, with no lock held.
 * Return: the mapping, valid until the next call for this walk, or
 *	-ENOENT if there is none, or -EINTR.
 */
struct unwind_area *unwind_area_find(struct unwind_walk *walk, unsigned long addr)
{
	struct unwind_area *area, found;
	int ret;

	for (area = walk->areas; area < walk->areas + UNWIND_NR_AREAS; area++) {
		if (addr >= area->start && addr < area->end)
			return area;
	}

	ret = look_up(walk->mm, addr, &found);
	if (ret)
		return ERR_PTR(ret);

	area = &walk->areas[walk->victim];
	walk->victim = (walk->victim + 1) % UNWIND_NR_AREAS;
	put_area(area);
	*area = found;
	return area;
}

/**
 * unwind_areas_put - forget the mappings that a walk met
 * @walk: the walk
 */
void unwind_areas_put(struct unwind_walk *walk)
{
	struct unwind_area *area;

	for (area = walk->areas; area < walk->areas + UNWIND_NR_AREAS; area++)
		put_area(area);
}
