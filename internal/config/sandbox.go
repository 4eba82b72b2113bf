package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// Sandbox says how child processes are confined. Of each limit, zero means
// the default of the runtime.
type Sandbox struct {
	// Level is the level that is asked for, never empty. strict refuses to
	// start children without limits of cgroup v2; landlock and none lower the
	// level by name.
	Level sallyport.Level
	// Memory bounds the memory of one child with its descendants, in bytes.
	Memory int64
	// Processes bounds its processes and threads.
	Processes int
	// CPUs bounds its processor time: 1.5 is one and a half processors.
	CPUs float64
	// FileSize bounds each file that it writes, in bytes.
	FileSize int64
	// Tmp bounds its private /tmp, in bytes.
	Tmp int64
	// Layer bounds its private layer in overlay mode, in bytes.
	Layer int64
	// LayerFiles bounds the files, folders and removals in that layer.
	LayerFiles int
	// Layers bounds how many private layers one principal has at a time.
	Layers int
	// Toolchains lists absolute folders with a bin folder that children see
	// read only and may run. nil means those that the runtime finds, an empty
	// list none.
	Toolchains []string
}

// Bounds of the limits. The lower ones are what an interpreter or a compiler
// needs to start at all (its threads count as processes), so that a slip of
// the unit is an error and not a child that never works; the upper ones are
// beyond any machine that is known, so that nothing overflows on the way to
// the kernel.
const (
	minMemory    = 16 << 20
	minFile      = 1 << 20
	maxBytes     = 1 << 40
	minProcesses = 16
	maxProcesses = 32768 // PID_MAX_DEFAULT of Linux (include/linux/threads.h)
	minCPUs      = 0.1
	maxCPUs      = 1024

	minLayerFiles = 100
	maxLayerFiles = 10_000_000
	maxLayers     = 1024
)

func sandboxKeys() []row {
	return []row{
		{
			KeyDoc: KeyDoc{"sandbox", TypeTextOrMapping, false, true, "full", "How child processes are confined: the level alone, or a mapping with limits for each child.", "{level: full, memory: 2GiB}"},
			short:  "sandbox.level",
		},
		{
			KeyDoc: KeyDoc{"sandbox.level", TypeText, false, true, "full", "`strict`: `full`, and no child starts without limits of cgroup v2. `full`: namespaces, a tree of its own, Landlock, seccomp, no capabilities; limits of cgroups where they are delegated. `landlock`: Landlock and seccomp, no network. `none`: children are not confined. A child never runs below the level.", "full"},
			words:  []string{string(sallyport.LevelStrict), string(sallyport.LevelFull), string(sallyport.LevelLandlock), string(sallyport.LevelNone)},
			set:    func(s *scope, v value) { s.cfg.Sandbox.Level = sallyport.Level(v.text) },
		},
		{
			KeyDoc: KeyDoc{"sandbox.memory", TypeText, false, true, "the default of the runtime", "Memory of a child with its descendants, `16MiB` to `1TiB`.", "2GiB"},
			check:  sizeCheck(minMemory), set: func(s *scope, v value) { s.cfg.Sandbox.Memory = storedNumber(v.text) },
		},
		{
			KeyDoc: KeyDoc{"sandbox.processes", TypeNumber, false, true, "the default of the runtime", "Processes and threads of a child with its descendants, 16 to 32768.", "512"},
			check:  countCheck(minProcesses, maxProcesses), set: func(s *scope, v value) { s.cfg.Sandbox.Processes = int(storedNumber(v.text)) },
		},
		{
			KeyDoc: KeyDoc{"sandbox.cpus", TypeDecimal, false, true, "the default of the runtime", "Processors that a child with its descendants may keep busy, 0.1 to 1024.", "1.5"},
			check:  (*scope).parseCPUs, set: func(s *scope, v value) { s.cfg.Sandbox.CPUs, _ = strconv.ParseFloat(v.text, 64) },
		},
		{
			KeyDoc: KeyDoc{"sandbox.file_size", TypeText, false, true, "the default of the runtime", "Size of each file that a child writes, `1MiB` to `1TiB`.", "1GiB"},
			check:  sizeCheck(minFile), set: func(s *scope, v value) { s.cfg.Sandbox.FileSize = storedNumber(v.text) },
		},
		{
			KeyDoc: KeyDoc{"sandbox.tmp", TypeText, false, true, "the default of the runtime", "Size of the private `/tmp` of a child, `1MiB` to `1TiB`; it is memory.", "512MiB"},
			check:  sizeCheck(minFile), set: func(s *scope, v value) { s.cfg.Sandbox.Tmp = storedNumber(v.text) },
		},
		{
			KeyDoc: KeyDoc{"sandbox.layer", TypeText, false, true, "the default of the runtime", "Size of the private layer of a child in overlay mode, `1MiB` to `1TiB`; it is memory.", "4GiB"},
			check:  sizeCheck(minFile), set: func(s *scope, v value) { s.cfg.Sandbox.Layer = storedNumber(v.text) },
		},
		{
			KeyDoc: KeyDoc{"sandbox.layer_files", TypeNumber, false, true, "the default of the runtime", "Files, folders and removals in that layer, 100 to 10000000.", "500000"},
			check:  countCheck(minLayerFiles, maxLayerFiles), set: func(s *scope, v value) { s.cfg.Sandbox.LayerFiles = int(storedNumber(v.text)) },
		},
		{
			KeyDoc: KeyDoc{"sandbox.layers", TypeNumber, false, true, "the default of the runtime", "Children in overlay mode that one principal has at a time, 1 to 1024; together they take as many layers.", "4"},
			check:  countCheck(1, maxLayers), set: func(s *scope, v value) { s.cfg.Sandbox.Layers = int(storedNumber(v.text)) },
		},
		{
			KeyDoc: KeyDoc{"sandbox.toolchains", TypeTexts, false, true, "those of Go and Rust in their usual places; `[]` means none", "Folders with a `bin` folder that children see read only and may run, beside the system's. Each is apart from the workspace, the state and what any personality writes, and is no home and no folder of the system. Absent, children see the user's module caches, too; `[]` switches that off.", "[/opt/node]"},
			check:  (*scope).parseToolchain, set: func(s *scope, v value) { s.cfg.Sandbox.Toolchains = v.list },
		},
	}
}

// units are the binary ones (IEC 80000-13). Decimal ones are refused rather
// than taken for them.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}

var errSize = errors.New("expected a whole number followed by KiB, MiB, GiB or TiB, such as 512MiB")

// sizeCheck returns a check for a size; what is kept is the number of bytes.
func sizeCheck(least int64) func(*scope, string) (string, error) {
	return func(_ *scope, v string) (string, error) {
		n, err := ParseSize(v)
		switch {
		case err != nil:
			return "", err
		case n < least || n > maxBytes:
			return "", fmt.Errorf("%s is out of range: expected %dMiB to 1TiB", yamldoc.Quote(v), least>>20)
		}
		return strconv.FormatInt(n, 10), nil
	}
}

// ParseSize reads a size such as 512MiB, in bytes. What is beyond the range of sizes is
// one byte more than its end.
func ParseSize(v string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(v, u.name)
		if !ok {
			continue
		}
		if !isDigits(digits) {
			return 0, errSize
		}
		// More than ten digits of the smallest unit are beyond the range.
		if len(digits) > 10 {
			return maxBytes + 1, nil
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > maxBytes/u.bytes {
			return maxBytes + 1, nil
		}
		return n * u.bytes, nil
	}
	return 0, errSize
}

// countCheck returns a check for a whole number.
func countCheck(least, most int) func(*scope, string) (string, error) {
	return func(_ *scope, v string) (string, error) {
		n, err := strconv.Atoi(v)
		if !isDigits(v) || err != nil || n < least || n > most {
			return "", fmt.Errorf("expected a whole number, %d to %d", least, most)
		}
		return v, nil
	}
}

func (s *scope) parseCPUs(v string) (string, error) {
	whole, part, point := strings.Cut(v, ".")
	n, err := strconv.ParseFloat(v, 64)
	if !isDigits(whole) || point && strings.Trim(part, "0123456789") != "" || err != nil || n < minCPUs || n > maxCPUs {
		return "", fmt.Errorf("expected a number such as 1.5, %v to %v", minCPUs, maxCPUs)
	}
	return v, nil
}

func (s *scope) parseBinary(v string) (string, error) {
	b, err := reach.ParseBinary(v)
	if err != nil {
		return "", fmt.Errorf("%s is not a binary that may be started: %w", yamldoc.Quote(v), err)
	}
	return b.String(), nil
}
