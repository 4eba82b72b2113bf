package importer

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/profiles"
	"github.com/sallyport/sallyport/internal/reach"
)

// containerRun is a command that runs a container, taken apart.
type containerRun struct {
	image string
	args  []string
	env   []clients.Pair
	// passed lists variables that the container gets from the client.
	passed []string
	mounts []containerMount
}

// containerMount is a path of the machine that the container sees elsewhere.
type containerMount struct {
	from, to string
	readOnly bool
}

// containerPrograms run containers with the options of docker-run(1).
var containerPrograms = []string{"docker", "podman", "nerdctl"}

// Options of docker-run(1) that say nothing about what the server does.
var (
	containerFlags  = []string{"-i", "-t", "-it", "-ti", "-d", "--interactive", "--tty", "--rm", "--init", "--read-only", "--privileged", "--detach"}
	containerValues = []string{
		"--name", "--network", "--net", "--pull", "--platform", "-u", "--user", "-w", "--workdir", "-p", "--publish", "-l", "--label", "-m", "--memory",
		"--cpus", "--cap-drop", "--cap-add", "--security-opt", "--log-driver", "--add-host", "--hostname", "-h", "--restart", "--tmpfs", "--shm-size", "--ipc",
	}
)

// parseContainer takes apart a command that runs a container. ok is false for
// every other command.
func parseContainer(command []string) (r containerRun, ok bool, err error) {
	if len(command) < 2 || !slices.Contains(containerPrograms, programName(command[0])) {
		return r, false, nil
	}
	words := command[1:]
	if words[0] == "container" {
		words = words[1:]
	}
	if len(words) == 0 || words[0] != "run" {
		return r, true, fmt.Errorf("%s without run starts no server that could take its place", programName(command[0]))
	}
	for words = words[1:]; len(words) > 0 && strings.HasPrefix(words[0], "-"); {
		if words, err = r.parseOption(words); err != nil {
			return r, true, err
		}
	}
	if len(words) == 0 {
		return r, true, errors.New("no image is named")
	}
	r.image, r.args = words[0], words[1:]
	return r, true, nil
}

// parseOption reads the first option and returns the words behind it.
func (r *containerRun) parseOption(words []string) ([]string, error) {
	name, value, inline := strings.Cut(words[0], "=")
	rest := words[1:]
	if slices.Contains(containerFlags, name) {
		return rest, nil
	}
	if !inline {
		if len(rest) == 0 {
			return nil, fmt.Errorf("the option %.40q needs a value", name)
		}
		value, rest = rest[0], rest[1:]
	}
	switch {
	case name == "-e" || name == "--env":
		variable, content, set := strings.Cut(value, "=")
		if set {
			r.env = append(r.env, clients.Pair{Name: variable, Value: content})
		} else {
			r.passed = append(r.passed, variable)
		}
	case name == "-v" || name == "--volume":
		parts := strings.Split(value, ":")
		if len(parts) >= 2 {
			r.mounts = append(r.mounts, containerMount{parts[0], parts[1], slices.Contains(strings.Split(parts[len(parts)-1], ","), "ro")})
		}
	case name == "--mount":
		r.mounts = append(r.mounts, parseMount(value))
	case !slices.Contains(containerValues, name):
		return nil, fmt.Errorf("the option %.40q of a container is not understood", name)
	}
	return rest, nil
}

// parseMount reads type=bind,src=FROM,dst=TO.
func parseMount(value string) (m containerMount) {
	for _, part := range strings.Split(value, ",") {
		switch key, v, _ := strings.Cut(part, "="); key {
		case "src", "source":
			m.from = v
		case "dst", "destination", "target":
			m.to = v
		case "ro", "readonly":
			m.readOnly = v != "false"
		}
	}
	return m
}

// findOutside returns what an argument of the container names on the machine: the
// path behind a mount, or all mounts below it.
func (r *containerRun) findOutside(arg string) (paths []string) {
	if !filepath.IsAbs(arg) {
		return []string{arg}
	}
	for _, m := range r.mounts {
		switch {
		case m.to == "" || !filepath.IsAbs(m.from) && !strings.HasPrefix(m.from, "${"):
			// A volume has no path on the machine.
		case reach.Within(m.to, arg):
			return []string{filepath.Join(m.from, strings.TrimPrefix(arg, m.to))}
		case reach.Within(arg, m.to):
			paths = append(paths, m.from)
		}
	}
	if len(paths) == 0 {
		return []string{arg}
	}
	return paths
}

// containerWay says what to do about a container that has no place here.
const containerWay = "a container does not run behind the gate, which confines programs by itself: write the package or the address of the server in its place, or leave it with the client with --leave "

// translateContainer puts the package of a known image in the place of the
// container, or finds the profile that says what else to do. It returns no
// command where there is none to go on with.
func (i *clientImport) translateContainer(p *plannedServer, command []string) []string {
	run, ok, err := parseContainer(command)
	if !ok {
		return command
	}
	if err != nil {
		p.blockServer("%v; %s%s", err, containerWay, p.name)
		return nil
	}
	image := profiles.ImageName(run.image)
	if p.profile = profiles.OfImage(image); p.profile == nil {
		p.blockServer("the image %s is not known; %s%s", image, containerWay, p.name)
		return nil
	}
	run.addVariables(&p.from)
	if i.refuseKnown(p) {
		return nil
	}
	launch := p.profile.Launch()
	if launch.URL != "" {
		i.translateToRemote(p, launch)
		return nil
	}
	command = []string{"npx", "-y", launch.NPM}
	if launch.PyPI != "" {
		command = []string{"uvx", launch.PyPI}
	}
	p.addNote("the image %s is not started: the package %s takes its place, confined by the gate", image, command[len(command)-1])
	for _, arg := range run.args {
		command = append(command, run.findOutside(arg)...)
	}
	for _, m := range run.mounts {
		if m.readOnly {
			p.readOnly = append(p.readOnly, m.from)
		}
	}
	return command
}

// addVariables adds the variables of the container to those of the server.
func (r *containerRun) addVariables(s *clients.Server) {
	s.Env = append(slices.Clone(s.Env), r.env...)
	for _, name := range r.passed {
		if !slices.ContainsFunc(s.Env, func(v clients.Pair) bool { return v.Name == name }) {
			s.Env = append(s.Env, clients.Pair{Name: name, Value: "${" + name + "}"})
		}
	}
}
