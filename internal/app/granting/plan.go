package granting

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/internal/yamledit"
)

// Plan is a change of the configuration and of the lock file that was loaded and is
// not written yet.
type Plan struct {
	// Target is what the change is about.
	Target string `json:"target"`
	// Changes lists the entries that are added or taken off, for people.
	Changes []string `json:"changes"`
	// Difference is what changes in the files, line by line.
	Difference string `json:"difference"`
	// Warnings lists what the user should know of the result.
	Warnings []string `json:"warnings,omitempty"`

	revoke bool
	files  []onestep.Change
}

// Empty reports whether everything is as it was asked for already.
func (p *Plan) Empty() bool { return len(p.files) == 0 }

// planner holds what a plan is made from.
type planner struct {
	ctx         context.Context
	rt          *app.Runtime
	request     *Request
	target      *target
	items       []grantItem
	paths       []string
	inWorkspace app.Environment // relative entries of the configuration start there

	file     string // which declares the target
	document *yamldoc.Document
	holder   []string // the path of the target in the document
}

// NewPlan finds what has to change for a request, and loads the result as check does.
// The paths are the configuration files that the user named. The error says what is
// wrong with the request or the result; nothing is changed.
func NewPlan(ctx context.Context, rt *app.Runtime, paths []string, r *Request) (*Plan, error) {
	if rt.Builtin {
		return nil, fmt.Errorf("there is no %s here: sallyport init writes it", app.ConfigName)
	}
	t, err := findTarget(rt, r)
	if err != nil {
		return nil, err
	}
	items, err := r.parseItems(rt.Env, rt.InForce().Config)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.refuseOwn(rt), r.refuseFloor(rt, items)); err != nil {
		return nil, err
	}
	p := &planner{ctx: ctx, rt: rt, request: r, target: t, items: items, paths: paths, inWorkspace: *rt.Env}
	p.inWorkspace.Dir = rt.InForce().Config.Workspace
	if p.file, p.holder, err = p.findHolder(t.kind, t.name); err != nil {
		return nil, err
	}
	if p.document, err = readDocument(p.file); err != nil {
		return nil, err
	}
	find := p.findAdditions
	if r.Revoke {
		find = p.findRemovals
	}
	edits, err := find(items)
	if err != nil {
		return nil, err
	}
	return p.makePlan(edits)
}

// readDocument reads a file of the configuration.
func readDocument(path string) (*yamldoc.Document, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return yamldoc.ReadDocument(path, data, yamldoc.Bounds{Bytes: 1 << 20, YAMLBytes: 1 << 20, YAMLKeys: 20_000})
}

// findHolder finds the file and the path of a server, role or tool.
func (p *planner) findHolder(kind, name string) (file string, path []string, err error) {
	for _, file := range p.rt.ConfigFiles {
		d, err := readDocument(file)
		if err != nil {
			return "", nil, err
		}
		switch kind {
		case targetServer, targetRole:
			key := map[string]string{targetServer: "mcp_servers", targetRole: "personalities"}[kind]
			if d.Root().Get(key).Get(name).Present() {
				return file, []string{key, name}, nil
			}
		default:
			for _, list := range [][]string{{"actions"}, {"layers", "capabilities", "actions"}} {
				for i, item := range d.Root().Find("/" + strings.Join(list, "/")).Items() {
					if id, _ := item.Get("id").Text(); id == name {
						return file, append(slices.Clone(list), strconv.Itoa(i)), nil
					}
				}
			}
		}
	}
	return "", nil, fmt.Errorf("%s is in no file of the configuration", name)
}

// makePlan carries the edits out in memory and loads the result.
func (p *planner) makePlan(edits []edit) (*Plan, error) {
	plan := &Plan{Target: p.target.name, Changes: []string{}, revoke: p.request.Revoke}
	before, after := map[string][]byte{}, map[string][]byte{}
	for _, e := range edits {
		file, _, err := p.fileOf(e)
		if err != nil {
			return nil, err
		}
		if _, read := after[file]; !read {
			if before[file], err = os.ReadFile(file); err != nil {
				return nil, err
			}
			after[file] = before[file]
		}
		key := slices.Concat(e.holder, e.list)
		changed, verb := "", "add %s to %s"
		if p.request.Revoke {
			verb = "take %s off %s"
			changed, err = p.removeFrom(string(after[file]), key, e)
		} else {
			changed, err = yamledit.AddItem(string(after[file]), key, e.item.text)
		}
		if errors.Is(err, yamledit.ErrStyle) {
			return nil, fmt.Errorf("%s: %w: nothing was changed. Edit it by hand: %s", file, err, fmt.Sprintf(verb, e.item.text, strings.Join(key, ".")))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		after[file] = []byte(changed)
		plan.Changes = append(plan.Changes, fmt.Sprintf(verb, text.PrintableLine(e.item.text), strings.Join(key, ".")))
	}
	for _, file := range p.rt.ConfigFiles {
		if _, ok := after[file]; ok {
			plan.files = append(plan.files, onestep.Change{Path: file, Old: before[file], New: after[file]})
		}
	}
	if plan.Empty() {
		return plan, nil
	}
	return plan, p.loadResult(plan, after)
}

// fileOf returns the file that an edit changes.
func (p *planner) fileOf(e edit) (file string, path []string, err error) {
	if slices.Equal(e.holder, p.holder) {
		return p.file, p.holder, nil
	}
	return p.findHolder(targetRole, e.holder[1])
}

// removeFrom takes an entry off a list of a text, which may have changed since it was
// read.
func (p *planner) removeFrom(content string, key []string, e edit) (string, error) {
	d, err := yamldoc.ReadDocument(p.file, []byte(content), yamldoc.Bounds{Bytes: 1 << 20, YAMLBytes: 1 << 20, YAMLKeys: 20_000})
	if err != nil {
		return "", err
	}
	now := *p
	now.document = d
	return yamledit.RemoveItem(content, key, e.findIn(&now))
}
