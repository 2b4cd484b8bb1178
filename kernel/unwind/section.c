// SPDX-License-Identifier: GPL-2.0
/*
 * The SFrame table of a mapped ELF file.
 *
 * The file says where its table is: PT_GNU_SFRAME. Headers and table are read
 * from the page cache of the file, not through the mapping, so it does not
 * matter whether the program has mapped, unmapped or overwritten them, no access
 * time moves and nobody who watches the file is told.
 */
#include <linux/cleanup.h>
#include <linux/elf.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/secretmem.h>
#include <linux/shmem_fs.h>
#include <asm/unwind_user.h>

#include "internal.h"

/* More program headers than any real file has. */
#define MAX_PHDRS	128

/*
 * Can the page cache of the file be read here? Not for file systems that have
 * none, and memory that was made for others not to see.
 */
static bool can_read(const struct file *file)
{
	struct address_space *mapping = file->f_mapping;

	if (!S_ISREG(file_inode(file)->i_mode) || IS_DAX(mapping->host))
		return false;
	if (is_file_hugepages(file) || secretmem_mapping(mapping))
		return false;
	return shmem_mapping(mapping) || mapping->a_ops->read_folio;
}

/* May its bytes be copied? A page that memory failed for must not be touched. */
static bool can_copy(const struct folio *folio)
{
	return folio_test_uptodate(folio) && !folio_test_hwpoison(folio) &&
	       !(folio_test_large(folio) && folio_test_has_hwpoisoned(folio));
}

static struct folio *checked(struct folio *folio)
{
	if (IS_ERR(folio) || can_copy(folio))
		return folio;
	folio_put(folio);
	return ERR_PTR(-EIO);
}

/* The folio with page @index if it is there, after a read that is under way. */
static struct folio *get_cached(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio;

	folio = filemap_get_folio(mapping, index);
	if (IS_ERR(folio) || can_copy(folio))
		return folio;

	if (unwind_must_not_wait() || folio_wait_locked_killable(folio)) {
		folio_put(folio);
		return ERR_PTR(-EINTR);
	}
	return checked(folio);
}

/*
 * The folio with page @index, read in if that does not have to wait. A reader
 * that is at the mercy of a user-space file system must be able to be killed:
 * ->read_folio() may not care, and holds a lock of the file. So what readahead does
 * not bring ends this walk; the next one tries again.
 */
static struct folio *get_folio(struct file *file, pgoff_t index)
{
	struct address_space *mapping = file->f_mapping;
	struct file_ra_state readahead;
	struct folio *folio;

	folio = get_cached(mapping, index);
	if (!IS_ERR(folio) || PTR_ERR(folio) == -EINTR)
		return folio;
	if (unwind_must_not_wait())
		return ERR_PTR(-EINTR);

	if (shmem_mapping(mapping))
		return checked(shmem_read_folio(mapping, index));

	file_ra_state_init(&readahead, mapping);
	page_cache_sync_readahead(mapping, &readahead, file, index, 1);
	return get_cached(mapping, index);
}

/*
 * Copy @len bytes at @pos. What a transient failure hides is not "no table": it
 * ends this walk only. -ERANGE says that the file is too short.
 */
static int read_file(struct file *file, u64 pos, void *dst, size_t len)
{
	struct folio *folio;
	size_t offset, chunk;
	u64 end;

	if (check_add_overflow(pos, len, &end) || end > i_size_read(file_inode(file)))
		return -ERANGE;

	while (len) {
		folio = get_folio(file, pos >> PAGE_SHIFT);
		if (IS_ERR(folio))
			return PTR_ERR(folio) == -EINTR ? -EINTR : -EFAULT;
		offset = offset_in_folio(folio, pos);
		chunk = min(len, folio_size(folio) - offset);
		memcpy_from_folio(dst, folio, offset, chunk);
		folio_put(folio);
		dst += chunk;
		pos += chunk;
		len -= chunk;
	}
	return 0;
}

/**
 * struct file_table - bytes of a table in a file
 * @bytes:	for the reader
 * @file:	the file
 * @offset:	where the table starts
 */
struct file_table {
	struct sframe_bytes	bytes;
	struct file		*file;
	u64			offset;
};

static int fetch_from_file(const struct sframe_bytes *bytes, u64 offset,
			   void *dst, size_t len)
{
	const struct file_table *table = container_of(bytes, struct file_table, bytes);

	/* A function may have as many rows as the budget of the walk allows. */
	cond_resched();
	return read_file(table->file, table->offset + offset, dst, len);
}

static struct file_table file_table(const struct unwind_area *area,
				    const struct unwind_table *table)
{
	return (struct file_table) {
		.bytes	= {
			.fetch	= fetch_from_file,
			.size	= table->size,
		},
		.file	= area->file,
		.offset	= table->offset,
	};
}

static bool usable_header(const Elf64_Ehdr *ehdr)
{
	return !memcmp(ehdr->e_ident, ELFMAG, SELFMAG) &&
	       ehdr->e_ident[EI_CLASS] == ELFCLASS64 &&
	       elf_check_arch(ehdr) &&
	       ehdr->e_phentsize == sizeof(Elf64_Phdr) &&
	       ehdr->e_phnum <= MAX_PHDRS;
}

/* Is the first byte of the mapping one of the segment's pages? */
static bool is_mapped_text(const Elf64_Phdr *phdr, u64 pos)
{
	return phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X) &&
	       pos >= round_down(phdr->p_offset, PAGE_SIZE) &&
	       pos - round_down(phdr->p_offset, PAGE_SIZE) <
	       round_up(offset_in_page(phdr->p_offset) + phdr->p_filesz, PAGE_SIZE);
}

static int read_headers(struct unwind_area *area, struct unwind_table *table,
			unsigned int *rows)
{
	u64 pos = (u64)area->pgoff << PAGE_SHIFT;
	u64 table_addr = 0;
	bool have_text = false;
	unsigned int i;
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	int ret;

	ret = read_file(area->file, 0, &ehdr, sizeof(ehdr));
	if (ret)
		return ret;
	if (!usable_header(&ehdr))
		return -ENOENT;
	if (*rows < ehdr.e_phnum)
		return -E2BIG;
	*rows -= ehdr.e_phnum;

	for (i = 0; i < ehdr.e_phnum; i++) {
		ret = read_file(area->file, ehdr.e_phoff + i * sizeof(phdr),
				&phdr, sizeof(phdr));
		if (ret)
			return ret;
		if (phdr.p_type == PT_GNU_SFRAME) {
			table->offset = phdr.p_offset;
			table->size = phdr.p_filesz;
			table_addr = phdr.p_vaddr;
		} else if (!have_text && is_mapped_text(&phdr, pos)) {
			have_text = true;
			table->bias = area->start - (pos - phdr.p_offset + phdr.p_vaddr);
			table->text_start = phdr.p_vaddr;
			table->text_end = phdr.p_vaddr + phdr.p_filesz;
		}
	}
	if (!have_text || !table->size)
		return -ENOENT;

	table->section.addr = table_addr;
	return 0;
}

/**
 * unwind_table_find - find the table for a mapping
 * @area: a mapping of a file with instructions
 * @table: where what was found goes
 * @rows: how many program headers may be looked at, is counted down
 *
 * Context: May sleep.
 * Return: 0, -ENOENT if there is no table or none that is accepted, -E2BIG, -EFAULT
 * or -EINTR if the file cannot be read now.
 */
int unwind_table_find(struct unwind_area *area, struct unwind_table *table,
		      unsigned int *rows)
{
	struct file_table source;
	int ret;

	if (!can_read(area->file))
		return -ENOENT;

	ret = read_headers(area, table, rows);
	if (!ret) {
		source = file_table(area, table);
		ret = sframe_open(&table->section, &source.bytes,
				  table->section.addr, UNWIND_USER_SFRAME_ABI);
	}
	return ret == -EOPNOTSUPP || ret == -ERANGE ? -ENOENT : ret;
}

/**
 * unwind_table_lookup - find the rule for a PC
 * @area: a mapping whose table was found
 * @pc: an address in it
 * @rule: where the rule goes; its addresses are those of the ELF file
 * @rows: how many rows may be looked at, is counted down
 *
 * Context: May sleep.
 * Return: 0, an error of the reader, -EFAULT or -EINTR. A file that ends before
 * its table does is -EBADMSG.
 */
int unwind_table_lookup(const struct unwind_area *area, u64 pc,
			struct sframe_rule *rule, unsigned int *rows)
{
	const struct unwind_table *table = &area->table;
	struct file_table source = file_table(area, table);
	u64 func_end;
	int ret;

	ret = sframe_find(&table->section, &source.bytes, pc - table->bias, rule, rows);
	if (ret)
		return ret == -ERANGE ? -EBADMSG : ret;

	/* A table speaks for the text it came with, not for the whole space. */
	if (rule->func_start < table->text_start ||
	    check_add_overflow(rule->func_start, (u64)rule->func_size, &func_end) ||
	    func_end > table->text_end)
		return -EBADMSG;
	return 0;
}
