// Package keypress reads the keys that a person presses at a terminal.
package keypress

import (
	"io"
	"os"

	"golang.org/x/term"
)

// ReadKeys returns the keys that a person presses at a terminal, nil when the
// file is none, and what gives the terminal back.
func ReadKeys(file *os.File) (keys <-chan byte, restore func()) {
	if !term.IsTerminal(int(file.Fd())) {
		return nil, func() {}
	}
	restore, err := readSingleKeys(file)
	if err != nil {
		return nil, func() {}
	}
	return sendBytes(file), restore
}

// sendBytes sends what is read, byte by byte, until the input ends. What is not
// received before the process ends is lost.
func sendBytes(r io.Reader) <-chan byte {
	keys := make(chan byte)
	go func() {
		defer close(keys)
		one := make([]byte, 1)
		for {
			if n, err := r.Read(one); err != nil {
				return
			} else if n == 1 {
				keys <- one[0]
			}
		}
	}()
	return keys
}
