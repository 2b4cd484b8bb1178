# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced after lib.sh: how this machine reaches the Debian archive.
#
#   debian_mirror        print the address of the mirror that apt here uses
#   debian_apt_options   print the apt settings here that any other suite needs
#   $DEBIAN_KEYRING      the keys that sign the archive

# shellcheck disable=SC2034 # used by the scripts that source this file
DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# UNWIND_MIRROR is for a machine whose own mirror lacks testing.
debian_mirror()
{
	local mirror=${UNWIND_MIRROR:-}

	# shellcheck disable=SC2016 # apt-get expands these
	[[ -n $mirror ]] || mirror=$(
		apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' \
			'Created-By: Packages' |
			sed -n 's/^Debian|Debian|//p' | sed -n 1p)
	[[ -n $mirror ]] || die 'apt on this machine knows no Debian mirror:' \
		'add one to /etc/apt/sources.list.d and run apt-get update,' \
		'or name one in UNWIND_MIRROR'
	printf '%s\n' "$mirror"
}

# A proxy that holds for the machine's suite holds for every suite. The Release
# file of a suite that moves on can be past its date on a mirror that lags.
debian_apt_options()
{
	apt-config dump |
		grep -iE '^Acquire::(https?|ftp|Retries)(::[^ ]*)? "..*";' || :
	printf '%s\n' 'Acquire::Check-Valid-Until "false";'
}
