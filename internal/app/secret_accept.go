package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

// maxAccepted bounds the note of what a user accepted of one program, in bytes.
const maxAccepted = 1 << 20

// SecretProgram is a program under secrets of the configuration: what this user
// accepted of it, and what would run. It is not confined, so that nothing that comes
// with a project accepts it: neither the configuration nor its lock file.
type SecretProgram struct {
	// Path is the program as the configuration names it.
	Path string
	// Was is what was accepted, nil for nothing; Now is what would run, one launch
	// for each entry of the configuration.
	Was, Now *lock.File
	// Note is the file that holds what was accepted. It is the user's, and for this
	// configuration alone.
	Note string
}

// Accepted reports whether all that would run was accepted.
func (p *SecretProgram) Accepted() bool {
	for _, s := range p.Now.Servers {
		if !p.accepts(&s.Launch) {
			return false
		}
	}
	return true
}

func (p *SecretProgram) accepts(now *lock.Launch) bool {
	if p.Was == nil {
		return false
	}
	for _, s := range p.Was.Servers {
		if s.Launch.Digest() == now.Digest() {
			return true
		}
	}
	return false
}

// SecretPrograms returns the programs under secrets, in the order of the
// configuration.
func (t *Deployment) SecretPrograms(env *Environment) (list []SecretProgram, err error) {
	for _, b := range t.Config.Secrets {
		if b.Exec == nil || slices.ContainsFunc(list, func(p SecretProgram) bool { return p.Path == b.Exec[0] }) {
			continue
		}
		p, err := t.findSecretProgram(env, b.Exec[0])
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// findSecretProgram reads what was accepted of a program, and what of it would run.
func (t *Deployment) findSecretProgram(env *Environment, path string) (p SecretProgram, err error) {
	p = SecretProgram{Path: path, Now: &lock.File{Servers: map[string]lock.Server{}}}
	if p.Note, err = env.acceptedNote(t.Config, path); err != nil {
		return p, err
	}
	if p.Was, err = readAccepted(p.Note); err != nil {
		return p, err
	}
	for i, b := range t.Config.Secrets {
		if b.Exec == nil || b.Exec[0] != path {
			continue
		}
		launch, err := t.describeProgram(env, b.Exec)
		if err != nil {
			return p, err
		}
		p.Now.Servers[fmt.Sprintf("secrets-%d", i)] = lock.Server{Launch: launch}
	}
	return p, nil
}

// acceptedFolder is where the user's notes of accepted programs are.
func (env *Environment) acceptedFolder() string {
	if folder := env.serverFolder(); folder != "" {
		return filepath.Join(filepath.Dir(folder), "accepted")
	}
	return ""
}

// acceptedNote returns the file with what was accepted of a program for a
// configuration.
func (env *Environment) acceptedNote(c *config.Config, path string) (string, error) {
	folder := env.acceptedFolder()
	if folder == "" {
		return "", errors.New("the user has no home folder, in which it is noted what is accepted: set XDG_STATE_HOME to a folder of the user")
	}
	return filepath.Join(folder, digest.Text(resolveLinks(c.Dir) + "\x00" + path)[:32]+".json"), nil
}

// readAccepted reads a note; nil without one.
func readAccepted(note string) (*lock.File, error) {
	f, err := os.OpenFile(note, os.O_RDONLY|fsx.NoWait, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := fsx.CheckPrivate(note, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxAccepted))
	if err != nil {
		return nil, err
	}
	return lock.Parse(note, data)
}

// describeProgram returns the launch of an entry: the arguments, the file with links
// followed, and the scripts among the arguments.
func (t *Deployment) describeProgram(env *Environment, argv []string) (l lock.Launch, err error) {
	l = lock.Launch{Transport: lock.TransportStdio, Command: argv}
	vars := env.pathVariables(t.Config)
	vars["workspace"], vars["self"] = t.Config.Workspace, t.Config.Dir
	for i, f := range t.programFiles(&config.Part{Dir: t.Config.Dir}, argv, vars) {
		real, err := filepath.EvalSymlinks(f.path)
		if i > 0 && !f.sure && err != nil {
			continue // a word that names no file
		}
		if err != nil {
			return l, err
		}
		if info, err := os.Stat(real); i > 0 && !f.sure && err == nil && !info.Mode().IsRegular() {
			continue
		}
		b, err := digestBinary(real)
		if err != nil {
			return l, err
		}
		if i == 0 {
			l.Binary = &b
		} else {
			l.Programs = append(l.Programs, b)
		}
	}
	return l, nil
}

// checkAccepted refuses the start of an entry whose present form was not accepted.
func (rt *Runtime) checkAccepted(t *Deployment, argv []string) error {
	env := rt.Env
	now, err := t.describeProgram(env, argv)
	if err != nil {
		return err
	}
	note, err := env.acceptedNote(t.Config, argv[0])
	if err != nil {
		return err
	}
	was, err := readAccepted(note)
	if err != nil {
		return err
	}
	p := SecretProgram{Was: was}
	switch {
	case p.accepts(&now):
		return nil
	case was == nil:
		return fmt.Errorf("it is not started, for you have not accepted it on this machine; when it is yours: %s", rt.acceptCommand(argv[0]))
	default:
		return fmt.Errorf("it is not started, for it is not what you accepted; this shows the difference and asks: %s", rt.acceptCommand(argv[0]))
	}
}

// acceptCommand returns the command that shows a program and asks.
func (rt *Runtime) acceptCommand(path string) string {
	return rt.ShortCommand("lock accept " + text.ShellWord(path))
}

// warnOfProgram warns of an entry that will not be started. It reads no program:
// whether one has changed is seen when it is needed.
func (rt *Runtime) warnOfProgram(t *Deployment, index int, argv []string) error {
	note, err := rt.Env.acceptedNote(t.Config, argv[0])
	if err != nil {
		return nil // said when it is needed
	}
	was, err := readAccepted(note)
	if err != nil {
		return err
	}
	if was != nil {
		for _, s := range was.Servers {
			if slices.Equal(s.Command, argv) {
				return nil
			}
		}
	}
	t.unaccepted = append(t.unaccepted, fmt.Sprintf("%s: secrets.%d.exec: %s is not started, for you have not accepted it on this machine; when it is yours: %s",
		t.Config.Source(fmt.Sprintf("secrets.%d", index)), index, argv[0], rt.acceptCommand(argv[0])))
	return nil
}
