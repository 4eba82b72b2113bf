package app

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// CommandLine returns a command of this program with the flags that find the
// configuration in force from any folder.
func (rt *Runtime) CommandLine(command string) string {
	command = rt.Env.ProgramName() + " " + command
	if rt.Builtin {
		return rt.folderPrefix() + command
	}
	return command + rt.configFlags()
}

// IsTemporary reports whether a binary is one that `go run` will remove.
func IsTemporary(exe string) bool {
	return strings.Contains(exe, string(filepath.Separator)+"go-build")
}

// ProgramPath returns the path by which others start this program.
func ProgramPath() (string, error) {
	exe, err := os.Executable()
	if IsTemporary(exe) {
		exe = "sallyport" // `go run` built this binary: use the installed one
	}
	return exe, err
}

// ProgramName returns how a user starts this program, as a shell reads it.
func (env *Environment) ProgramName() string { return cmp.Or(env.Program, usualName) }

// ShortCommand returns a command of this program for a user in the working folder.
func (rt *Runtime) ShortCommand(command string) string {
	return rt.TrimCommands(rt.CommandLine(command))
}

// TrimCommands takes off the commands of a text what finds the configuration, where
// the working folder does so by itself.
func (rt *Runtime) TrimCommands(s string) string {
	if rt.Env.elsewhere {
		return s
	}
	if rt.Builtin {
		return strings.ReplaceAll(s, rt.folderPrefix(), "")
	}
	if files := rt.ConfigFiles; len(files) != 1 || files[0] != filepath.Join(rt.Env.Dir, ConfigName) {
		return s
	}
	return strings.ReplaceAll(s, rt.configFlags(), "")
}

// folderPrefix changes to the folder whose files the built-in configuration is about.
func (rt *Runtime) folderPrefix() string { return "cd " + text.ShellWord(rt.Env.Dir) + " && " }

// configFlags names the files of the configuration.
func (rt *Runtime) configFlags() string { return text.RepeatFlag("config", rt.ConfigFiles) }

// grantCommand returns the command that lets a tool under a role touch an item of a
// capability; empty where there is none.
func (t *Deployment) grantCommand(rt *Runtime, tool, role, capability, item string) string {
	if rt.Env.HintGrant == nil {
		return ""
	}
	command, ok := strings.CutPrefix(rt.Env.HintGrant(t.Config, tool, role, capability, item), "sallyport ")
	if !ok {
		return ""
	}
	return rt.CommandLine(command)
}
