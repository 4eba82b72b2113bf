package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
)

// Bounds of a batch.
const (
	maxBatch     = 10_000  // calls
	maxBatchLine = 9 << 20 // bytes: the gate's bound on arguments and an envelope
)

func batchCommand(env *environment, f *flags) *cobra.Command {
	var r role
	cmd := &cobra.Command{
		Use:   "batch [FILE|-]",
		Short: "Make many calls as one batch",
		Long: `Make many calls as one batch: JSON Lines {"id","tool","args"} in, {"id","result"}
out in the order of the input. The calls run in parallel and share the result
budget. A broken line answers input_invalid in its place; a repeated id is
refused. The exit code is 1 when any answer is an error.`,
		Example: `  printf '%s\n' '{"id":"1","tool":"read_file","args":{"path":"README.md"}}' | sallyport batch`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			g, err := openGate(cmd.Context(), env, f)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, g.Close()) }()
			caller, err := g.caller(r.personality, r.principal, r.session)
			if err != nil {
				return misused(err)
			}
			caller.DryRun = r.dryRun
			in := io.Reader(env.stdin)
			if len(args) == 1 && args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return misused(err)
				}
				defer file.Close()
				in = file
			}
			lines, err := readBatch(in)
			if err != nil {
				return misused(err)
			}
			requests, places := wellFormed(lines)
			results := g.registry.Batch(cmd.Context(), caller, requests)
			for i, place := range places {
				lines[place].result = &results[i]
			}
			return printBatch(env.stdout, lines)
		},
	}
	r.register(cmd)
	return cmd
}

// batchLine is one line of the input with its answer.
type batchLine struct {
	id      json.RawMessage
	request sallyport.Request
	result  *sallyport.Result
}

// readBatch reads every line before any call is made, so that a repeated id
// refuses the later line and not a call that has already run.
func readBatch(in io.Reader) ([]batchLine, error) {
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 64<<10), maxBatchLine)
	var lines []batchLine
	seen := map[string]bool{}
	for scan.Scan() {
		if len(bytes.TrimSpace(scan.Bytes())) == 0 {
			continue
		}
		if len(lines) == maxBatch {
			return nil, fmt.Errorf("a batch has at most %d calls", maxBatch)
		}
		line := parseLine(bytes.Clone(scan.Bytes()))
		if line.result == nil && seen[string(line.id)] {
			res := sallyport.Err("id "+string(line.id)+" is repeated", sallyport.CodeInputInvalid)
			line.result = &res
		}
		seen[string(line.id)] = line.id != nil
		lines = append(lines, line)
	}
	return lines, scan.Err()
}

// parseLine reads one line strictly. What is wrong with it is its answer; the
// arguments are the gate's to judge, so that a fault in them is recorded.
func parseLine(text []byte) (line batchLine) {
	broken := func(why string) batchLine {
		res := sallyport.Err(why, sallyport.CodeInputInvalid)
		line.result = &res
		return line
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
	if json.Unmarshal(keys["tool"], &tool) != nil || tool == "" {
		return broken("tool: expected a string that is not empty")
	}
	line.request = sallyport.Request{ID: id, Tool: tool, Args: keys["args"]}
	return line
}

// topLevel splits an object into its members and refuses a repeated or
// unknown key.
func topLevel(text []byte) (map[string]json.RawMessage, error) {
	keys := map[string]json.RawMessage{}
	list, err := members(text)
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

// wellFormed returns the requests to be made and the lines they belong to.
func wellFormed(lines []batchLine) (requests []sallyport.Request, places []int) {
	for i := range lines {
		if lines[i].result == nil {
			requests, places = append(requests, lines[i].request), append(places, i)
		}
	}
	return requests, places
}

// printBatch writes one answer per line.
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
		return failed()
	}
	return nil
}
