// Command hostile is a child that tries to break out of its confinement. It
// prints one line for each attack: its name, ALLOWED or BLOCKED, and what was
// seen. An attack is ALLOWED only when its effect was seen: the secret was
// read, the host answered, the kernel handed the object out.
//
// Each attack runs in a process of its own, so that one which is killed ends
// no other.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Target is what the host has put up to be attacked.
type Target struct {
	// Root holds "outside" beside the reach: "ws" may be written, "bin" read.
	Root string
	// Victim is a process of the user who runs the gate; at Address of its
	// memory and behind its descriptor VictimFD lies the secret.
	Victim   int
	Address  uintptr
	VictimFD int
	// TCP and UDP are ports of the host's loopback that answer with the
	// secret, Abstract an abstract socket that does.
	TCP, UDP int
	Abstract string
	// Shared is a System V segment with the secret.
	Shared int
	// Device is the number of the block device below Root.
	Device uint64
	// HandleType and Handle name the file outside/secret by its inode.
	HandleType int32
	Handle     []byte
	// Processes is how many processes a child may have.
	Processes int
}

const (
	secret  = "CANARY-6f1d2a"
	patient = 5 * time.Second
)

// attack returns what was seen when it worked.
type attack struct {
	name string
	try  func(t *Target) (seen string, err error)
}

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "hello":
		fmt.Println(secret)
	case len(os.Args) == 3 && os.Args[1] == "victim":
		victim()
	case len(os.Args) == 3 && os.Args[1] == "all":
		for _, a := range attacks() {
			fmt.Println(a.name + ": " + run(a.name, os.Args[2]))
		}
	case len(os.Args) == 2 && os.Args[1] == "hoard":
		hoard()
	case len(os.Args) == 4 && os.Args[1] == "one":
		one(os.Args[2], os.Args[3])
	default:
		fmt.Fprintln(os.Stderr, "usage: hostile all TARGET")
		os.Exit(2)
	}
}

func attacks() []attack {
	var list []attack
	for _, part := range [][]attack{fileAttacks, floorAttacks, networkAttacks, processAttacks, kernelAttacks} {
		list = append(list, part...)
	}
	return list
}

// run has another process carry out an attack.
func run(name, target string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "one", name, target)
	cmd.WaitDelay = patient
	out, err := cmd.Output()
	line := strings.TrimSpace(string(out))
	switch {
	case ctx.Err() != nil:
		return "BLOCKED nothing happened"
	case strings.HasPrefix(line, "ALLOWED") || strings.HasPrefix(line, "BLOCKED"):
		return line
	}
	if e := (*exec.ExitError)(nil); errors.As(err, &e) && e.Sys().(syscall.WaitStatus).Signaled() {
		return fmt.Sprintf("BLOCKED %v", err)
	}
	// Nothing was tried, which shows nothing.
	return fmt.Sprintf("BROKEN %v", err)
}

func one(name, text string) {
	var t Target
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, a := range attacks() {
		if a.name != name {
			continue
		}
		seen, err := a.try(&t)
		if err != nil {
			fmt.Println("BLOCKED", strings.ReplaceAll(err.Error(), "\n", " "))
			return
		}
		fmt.Println("ALLOWED", seen)
	}
}

var errNothing = errors.New("the secret was not seen")

// holds turns what was read into the answer.
func holds(data []byte, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(data), secret) {
		return "", errNothing
	}
	return "the secret was read", nil
}

// answers runs a program that prints the secret.
func answers(path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patient/2)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).Output()
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(out), secret) {
		return "", errNothing
	}
	return "it ran", nil
}
