//go:build unix

package anchor

import "golang.org/x/sys/unix"

// noFollow refuses a link in place of the file.
const noFollow = unix.O_NOFOLLOW
