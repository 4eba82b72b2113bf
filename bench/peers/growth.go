package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// sample is what the program holds at one moment. The first number of a pair is
// that of `serve`, the second that of `serve --stdio`.
type sample struct {
	residentMB           [2]float64
	descriptors, threads [2]int
	children             [2]int
	// files are those of the state, without the log, and of the folder for
	// temporary files; segments are those of the log.
	files, segments int
	logBytes        int64
	calls           int64
}

func (s sample) String() string {
	return fmt.Sprintf("calls %d; resident %.1f and %.1f MB; descriptors %d and %d; threads %d and %d; children %d and %d; files %d; log %.1f MB in %d segments",
		s.calls, s.residentMB[0], s.residentMB[1], s.descriptors[0], s.descriptors[1], s.threads[0], s.threads[1],
		s.children[0], s.children[1], s.files, float64(s.logBytes)/1e6, s.segments)
}

// sampler takes samples.
type sampler struct {
	dir  string
	pids []int
	ways []*soakWay
}

// logEnd ends the name of the folder of the log.
const logEnd = ".db-log"

func (r *sampler) take() (s sample, err error) {
	for i, pid := range r.pids {
		s.residentMB[i] = float64(statusField(pid, "VmRSS")) / 1024
		s.descriptors[i], s.threads[i] = countDescriptors(pid), statusField(pid, "Threads")
		s.children[i] = countDescendants(pid)
	}
	for _, w := range r.ways {
		s.calls += w.made.Load()
	}
	state := filepath.Join(r.dir, ".sallyport")
	kept, _, err := countFiles(state, logEnd)
	if err != nil {
		return s, err
	}
	temporary, _, err := countFiles(filepath.Join(r.dir, "home"), "")
	s.files = kept + temporary
	if err != nil {
		return s, err
	}
	s.segments, s.logBytes, err = countFiles(filepath.Join(state, "state"+logEnd), "")
	return s, err
}

// bound is how much a number may grow from the first third of a soak to its
// last: a share of it, and a number on top.
type bound struct {
	what   string
	of     func(sample) float64
	share  float64
	number float64
	why    string
}

// bounds are those of one process; i is its place in a sample.
func bounds(i int, process string) []bound {
	return []bound{
		{
			process + ": resident MB", func(s sample) float64 { return s.residentMB[i] }, 0.15, 4,
			"the collector lets the heap breathe, and the cache of SQLite fills up to its bound",
		},
		{
			process + ": descriptors", func(s sample) float64 { return float64(s.descriptors[i]) }, 0, 8,
			"two more connections to SQLite, of three files each, a session that ends beside one that begins, and the next segment of the log",
		},
		{
			process + ": threads", func(s sample) float64 { return float64(s.threads[i]) }, 0, 4,
			"Go keeps the threads that waited for the disk at once, and a busy machine lets more of them wait",
		},
		{
			process + ": child processes", func(s sample) float64 { return float64(s.children[i]) }, 0, 1,
			"a helper that waits may be on its way",
		},
	}
}

// judge prints first, median and last of each number and returns an error when
// one grew beyond its bound.
func judge(w io.Writer, samples []sample, goroutinesBefore, goroutinesAfter int) error {
	third := len(samples) / 3
	if third == 0 {
		return errors.New("too few samples to say what grew: let it run for longer")
	}
	all := append(bounds(0, "serve"), bounds(1, "serve --stdio")...)
	all = append(all, bound{
		"files of the state and temporary files", func(s sample) float64 { return float64(s.files) }, 0, 2,
		"a file that is written aside exists for a moment",
	})
	var grown []string
	fmt.Fprintln(w, "\n| what | first | median | last | may grow by |\n| --- | --- | --- | --- | --- |")
	for _, b := range all {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = b.of(s)
		}
		may := b.share*median(values[:third]) + b.number
		fmt.Fprintf(w, "| %s | %.4g | %.4g | %.4g | %.3g: %s |\n", b.what, values[0], median(values), values[len(values)-1], may, b.why)
		if by := median(values[len(values)-third:]) - median(values[:third]); by > may {
			grown = append(grown, fmt.Sprintf("%s grew by %.4g from the first third to the last", b.what, by))
		}
	}
	// A load that ended leaves goroutines of connections that time out later.
	const goroutinesMay = 10
	fmt.Fprintf(w, "| serve: goroutines when all callers have gone | %d | | %d | %d: pools that are full or not |\n", goroutinesBefore, goroutinesAfter, goroutinesMay)
	if goroutinesAfter > goroutinesBefore+goroutinesMay {
		grown = append(grown, fmt.Sprintf("goroutines grew from %d to %d", goroutinesBefore, goroutinesAfter))
	}
	first, last := samples[0], samples[len(samples)-1]
	if calls := last.calls - first.calls; calls > 0 {
		fmt.Fprintf(w, "\n%d calls, %d bytes of the log for each, segments that are not full yet included\n", last.calls, (last.logBytes-first.logBytes)/calls)
	}
	if len(grown) > 0 {
		return errors.New(strings.Join(grown, "; "))
	}
	return nil
}
