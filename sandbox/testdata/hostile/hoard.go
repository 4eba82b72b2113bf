package main

import (
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hoardMax ends the hoarding of what has no bound.
const hoardMax = 200_000

// hoard takes all that the kernel counts for a user and gives to this process,
// says how much it was, and holds it until its standard input ends.
func hoard() {
	inotify := 0
	for ; inotify < 2000; inotify++ {
		if _, err := unix.InotifyInit1(0); err != nil {
			break
		}
	}
	timers := 0
	for ; timers < hoardMax; timers++ {
		var id int32
		if _, _, errno := unix.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&id))); errno != 0 {
			break
		}
	}
	fmt.Println("hoarded", inotify, timers)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
