package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// errChangedProgram refuses to run a file that an agent may have written.
var errChangedProgram = errors.New("its program was changed in a folder that tools may write")

// scriptRunners lists the programs that run the file named by their first
// argument.
var scriptRunners = []string{
	"sh", "bash", "dash", "zsh", "node", "deno", "bun", "python", "python3", "ruby", "perl", "php", "lua", "tclsh",
}

// WrittenProgram holds the files that an action or a server runs, when tools may write
// at least one of them.
type WrittenProgram struct {
	// Kind is "action" or "server", and Name its name in the configuration.
	Kind, Name string
	part       *config.Part
	// paths lists all these files as they are spelled.
	paths []string
	// path is the first file that tools may write, and by names the personality
	// that allows it.
	path, by string
	// digest is the digest of the files when the state first saw them. It is
	// empty when it is not known, and then nothing runs.
	digest string
	// absent is true when path leads to no file, so that it may not name a file
	// at all. Such a path is checked only when the state once saw a file there.
	absent bool
}

// programFile is a file that a command runs, or may run.
type programFile struct {
	path string
	// sure is false for a word that names a file only if that file exists.
	sure bool
}

// StateKey returns the state's key for the files. A declaration that the operator
// changes gets a new key, and its files are trusted anew.
func (w *WrittenProgram) StateKey() string {
	return "program:" + w.Kind + ":" + w.Name + ":" + digest.Text(strings.Join(w.paths, "\x00"))[:32]
}

// CurrentDigest returns the digest of the present files and of the paths to which their
// names lead.
func (w *WrittenProgram) CurrentDigest() string {
	var b strings.Builder
	for _, path := range w.paths {
		fmt.Fprintf(&b, "%q ", path)
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			b.WriteString("missing\n")
			continue
		}
		sum, err := digest.File(real, maxProgram)
		if err != nil {
			b.WriteString("unreadable\n")
			continue
		}
		fmt.Fprintf(&b, "%q %x\n", real, sum)
	}
	return digest.Text(b.String())
}

// isUnchanged reports whether the files are those that the state first saw.
func (w *WrittenProgram) isUnchanged() bool { return w.digest != "" && w.CurrentDigest() == w.digest }

// acceptFix says how an operator lets changed files run again.
func (w *WrittenProgram) acceptFix(commandLine func(command string) string) string {
	return "look at the file; if it is right: " + commandLine("reach accept "+w.Kind+" "+text.ShellWord(w.Name))
}

// guardPrograms finds the files that actions and servers run and that tools may
// write. Such files run only in the form that the state first saw. Files that
// the operator allows by execFrom, and files that the lock pins, are not
// checked.
func (rt *Runtime) guardPrograms(ctx context.Context, t *Deployment) {
	for i := range t.Config.Actions {
		a := &t.Config.Actions[i]
		def, err := action.Decode(a.JSON, &action.DecodeOptions{Dir: a.Dir, Workspace: t.Config.Workspace, Home: rt.Env.Home})
		if err != nil || def.Handler.Exec == nil {
			continue
		}
		argv := def.Handler.Exec.Command
		if p := def.Handler.Exec.Path; p != "" {
			argv = []string{p}
		}
		if w := t.writtenProgram(rt.Env, a, "action", argv, def.Capabilities.Process); w != nil && rt.trustFirst(ctx, t, w) {
			t.holdAction(w)
		}
	}
	for i := range t.Config.Servers {
		s := &t.Config.Servers[i]
		var spelled struct {
			Command []string `json:"command"`
			Args    []string `json:"args"`
		}
		if json.Unmarshal(s.JSON, &spelled) != nil {
			continue
		}
		var c *sallyport.ProcessCapability
		for j := range t.Servers.Declared {
			if t.Servers.Declared[j].Name == s.ID {
				c = t.Servers.Declared[j].Capabilities.Process
			}
		}
		if _, pinned := t.Servers.Pins.PinnedServer(s.ID); pinned {
			continue
		}
		if w := t.writtenProgram(rt.Env, s, "server", append(spelled.Command, spelled.Args...), c); w != nil && rt.trustFirst(ctx, t, w) {
			t.Servers.Pins.written[s.ID] = w
		}
	}
}

// writtenProgram returns the files of a command when tools may write at least
// one of them, else nil.
func (t *Deployment) writtenProgram(env *Environment, part *config.Part, kind string, argv []string, process *sallyport.ProcessCapability) *WrittenProgram {
	vars := env.pathVariables(t.Config)
	vars["workspace"], vars["self"] = t.Config.Workspace, part.Dir
	w := &WrittenProgram{Kind: kind, Name: part.ID, part: part, absent: true}
	for _, f := range t.programFiles(part, argv, vars) {
		w.paths = append(w.paths, f.path)
		by := t.FindWriter(f.path)
		if by == "" || !w.absent || process != nil && runsFrom(process.ExecFrom, vars, f.path) {
			continue
		}
		info, err := os.Stat(f.path)
		w.path, w.by, w.absent = f.path, by, !f.sure && (err != nil || !info.Mode().IsRegular())
	}
	if w.path == "" {
		return nil
	}
	return w
}

// FindWriter names the personality that may write a file or the file to which its
// name leads.
func (t *Deployment) FindWriter(path string) string {
	table := t.places.Table()
	if by := table.Writer(table.Place(path).Path); by != "" {
		return by
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return table.Writer(real)
	}
	return ""
}

// programFiles lists the files that a command runs: the program itself when it
// is a path, and scripts among its arguments. It does not look at the disk, so
// that an agent cannot change the list by removing a file.
func (t *Deployment) programFiles(part *config.Part, argv []string, vars map[string]string) (files []programFile) {
	script := false // the interpreter has had its script
	for i, text := range argv {
		if option, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(option, "-") {
			text = value
		}
		option := strings.HasPrefix(text, "-")
		path := text
		switch {
		case text == "" || strings.ContainsRune(text, 0):
			continue
		case strings.HasPrefix(text, "${"):
			abs, err := reach.Expand(text, vars)
			if err != nil {
				continue
			}
			path = abs
		case !filepath.IsAbs(text) && i == 0:
			continue // a name from the search path
		case strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../"):
			path = filepath.Join(part.Dir, text)
		case !filepath.IsAbs(text):
			path = filepath.Join(t.Config.Workspace, text)
		}
		f := programFile{filepath.Clean(path), i == 0 || digest.IsScript(path)}
		runs := f.sure
		if i > 0 && !option && !script && slices.Contains(scriptRunners, filepath.Base(argv[0])) {
			// After an option such as -c, the word may be something other than
			// a file.
			script, runs, f.sure = true, true, f.sure || i == 1
		}
		if runs {
			files = append(files, f)
		}
	}
	return files
}

// runsFrom reports whether an operator allows the execution of a path that
// tools may write.
func runsFrom(list []string, vars map[string]string, path string) bool {
	return slices.ContainsFunc(list, func(from string) bool {
		abs, err := reach.Expand(from, vars)
		return err == nil && reach.Within(abs, path)
	})
}

// trustFirst looks up the digest that the state first saw. The first command that
// may run anything stores it: before that, no agent of this state has run. It
// reports whether the files have to match that digest.
func (rt *Runtime) trustFirst(ctx context.Context, t *Deployment, w *WrittenProgram) bool {
	s, now := rt.trusted, w.CurrentDigest()
	if s == nil {
		s = rt.Settings
	}
	known, ok, err := s.Get(ctx, w.StateKey())
	if err == nil && !ok && w.absent {
		return false
	}
	if err == nil && !ok {
		known = now
		if !rt.views {
			var stored bool
			var have string
			if have, stored, err = s.PutIfAbsent(ctx, w.StateKey(), now); !stored {
				known = have
			}
		}
	}
	if err != nil {
		rt.Logger.Error("what a program was is not known, so that it does not run", w.Kind, w.Name, "error", err)
		known = ""
	}
	w.digest = known
	t.Programs = append(t.Programs, w)
	return true
}

// holdAction lets an action run only while its files match the digest in the
// state.
func (t *Deployment) holdAction(w *WrittenProgram) {
	for i := range t.Tools {
		if tool := &t.Tools[i]; tool.Name == w.Name && tool.Sources != nil {
			tool.IsAvailable = w.isUnchanged
			tool.WhyNot = errChangedProgram.Error
		}
	}
}

// ProgramFaults returns a fault with its remedy for each program that tools may
// write.
func (rt *Runtime) ProgramFaults() (faults registry.Faults) {
	for _, w := range rt.InForce().Programs {
		name := w.Name
		if w.Kind == "server" {
			name = toolsNamed(name)
		}
		f := registry.Fault{
			Tool: name, Capability: "process", Source: w.part.Source(""),
			Message: fmt.Sprintf("it runs %s: %s may write there, so an agent can change what runs", w.path, w.by),
			Fix:     "move it to a folder that no tool may write; to let agents choose what runs, name its folder in capabilities.process.execFrom of the declaration",
		}
		if w.Kind == "server" {
			f.Fix += "; or pin it with " + rt.CommandLine("lock")
		}
		if !w.isUnchanged() {
			f.Message += "; it was changed since the gate first saw it, and does not run"
			f.Fix = w.acceptFix(rt.CommandLine)
		}
		faults = append(faults, f)
	}
	return faults
}
