package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/batch"
)

// Bounds of a batch.
const (
	maxBatch      = 10_000    // calls
	maxBatchLine  = 9 << 20   // bytes: the gate's bound on arguments, and an envelope
	maxBatchBytes = 256 << 20 // bytes: all lines are in memory until the calls are made
)

func batchCommand(env *environment, f *flags) *cobra.Command {
	var r callerFlags
	cmd := &cobra.Command{
		Use:   "batch [FILE|-]",
		Short: "Make many calls as one batch",
		Long: `Make many calls as one batch. The input is JSON Lines {"id","tool","args"}. The
output is JSON Lines {"id","result"} in the same order. The calls run in parallel
and share the result budget. A broken line is answered input_invalid. A repeated
id is refused. The exit code is 1 when any answer is an error.`,
		Example: `  printf '%s\n' '{"id":"1","tool":"read_file","args":{"path":"README.md"}}' | sallyport batch`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withGate(cmd.Context(), env, f, app.OpenForCalls, func(rt *app.Runtime, caller *sallyport.Caller) error {
				in := io.Reader(env.stdin)
				if len(args) == 1 && args[0] != "-" {
					file, err := os.Open(args[0])
					if err != nil {
						return err
					}
					defer file.Close()
					in = file
				}
				lines, err := batch.ReadLines(in)
				if err != nil {
					return err
				}
				requests, places := batch.Requests(lines)
				var called, servers []string
				for i := range requests {
					called, servers = append(called, requests[i].Tool), append(servers, app.ServerOf(requests[i].Tool))
				}
				rt.FindServers(cmd.Context(), caller, servers, leftOf(called...))
				for i := range lines {
					if l := &lines[i]; l.Broken != "" {
						res := rt.Registry.Reject(cmd.Context(), caller, l.Request, l.Broken)
						l.Result = &res
					}
				}
				stop := rt.FollowChanges(cmd.Context())
				results := rt.Registry.Batch(cmd.Context(), caller, requests)
				stop()
				for i, place := range places {
					lines[place].Result = &results[i]
				}
				ok, err := batch.WriteAnswers(env.stdout, lines)
				if err != nil {
					return err
				}
				return failUnless(ok)
			})
		},
	}
	r.registerFlags(cmd)
	r.registerDry(cmd)
	return cmd
}

// batchLine is one line of the input and its answer.
type batchLine struct {
	id      json.RawMessage
	request sallyport.Request
	broken  string // the fault of the line itself
	result  *sallyport.Result
}

// readBatch reads all lines before it makes any call. A repeated id therefore
// refuses the later line, and never a call that has already run.
func readBatch(in io.Reader) ([]batchLine, error) {
	r := bufio.NewReaderSize(in, 64<<10)
	var lines []batchLine
	seen, total := map[string]bool{}, 0
	for {
		text, err := readLine(r, maxBatchLine)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if total += len(text); total > maxBatchBytes {
			return nil, fmt.Errorf("a batch has at most %d MiB", maxBatchBytes>>20)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			if len(lines) == maxBatch {
				return nil, fmt.Errorf("a batch has at most %d calls", maxBatch)
			}
			lines = append(lines, parseLine(text, seen))
		}
		if err == io.EOF {
			return lines, nil
		}
	}
}

// readLine reads one line. It returns a little more than most bytes of a longer
// line and drops the rest.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= most {
			line = append(line, part...)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// parseLine parses one line strictly and adds its id to seen. A fault in the
// line becomes the answer to it. The gate checks the arguments.
func parseLine(text []byte, seen map[string]bool) (line batchLine) {
	broken := func(why string) batchLine {
		line.broken = why
		return line
	}
	if len(text) > maxBatchLine {
		return broken(fmt.Sprintf("the line is longer than %d bytes", maxBatchLine))
	}
	keys, err := topLevel(text)
	line.id = keys["id"]
	if err != nil {
		return broken(err.Error())
	}
	var id, tool string
	if json.Unmarshal(keys["id"], &id) != nil || id == "" {
		return broken("id: expected a string that is not empty")
	}
	// Compare ids after decoding: JSON can spell one id in two ways.
	if seen[id] {
		return broken("id " + string(line.id) + " is repeated")
	}
	seen[id] = true
	if json.Unmarshal(keys["tool"], &tool) != nil || tool == "" {
		return broken("tool: expected a string that is not empty")
	}
	line.request = sallyport.Request{ID: id, Tool: tool, Args: keys["args"]}
	return line
}

// topLevel splits an object into its members. It refuses a key that is repeated
// or unknown.
func topLevel(text []byte) (map[string]json.RawMessage, error) {
	keys := map[string]json.RawMessage{}
	list, err := readMembers(text)
	if err != nil {
		return keys, err
	}
	for _, m := range list {
		if _, repeated := keys[m.key]; repeated {
			return keys, fmt.Errorf("key %q is repeated", m.key)
		}
		if m.key != "id" && m.key != "tool" && m.key != "args" {
			return keys, fmt.Errorf("unknown key %q: expected id, tool and args", m.key)
		}
		keys[m.key] = m.value
	}
	return keys, nil
}

// wellFormed returns the requests to make and, for each, the index of its line.
func wellFormed(lines []batchLine) (requests []sallyport.Request, places []int) {
	for i := range lines {
		if lines[i].broken == "" {
			requests, places = append(requests, lines[i].request), append(places, i)
		}
	}
	return requests, places
}

// printBatch writes one answer for each line.
func printBatch(w io.Writer, lines []batchLine) error {
	bad := false
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for i := range lines {
		l := &lines[i]
		bad = bad || !l.result.OK
		answer := struct {
			ID     json.RawMessage   `json:"id"`
			Result *sallyport.Result `json:"result"`
		}{l.id, l.result}
		if len(answer.ID) == 0 {
			answer.ID = json.RawMessage("null")
		}
		if err := enc.Encode(answer); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if bad {
		return silentFailure()
	}
	return nil
}

// serversIn lists the servers whose tools are requested.
func serversIn(requests []sallyport.Request) (names []string) {
	for i := range requests {
		if s := app.ServerOf(requests[i].Tool); s != "" {
			names = append(names, s)
		}
	}
	return names
}

// calledIn lists the tools that requests call.
func calledIn(requests []sallyport.Request) (ids []string) {
	for i := range requests {
		ids = append(ids, requests[i].Tool)
	}
	return ids
}
