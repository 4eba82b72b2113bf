// Package skill holds the tool get_skill, which gives a model instructions of the
// operator by their name. [Tool] returns it for a registry.
//
// A skill is a text in the operator's folder: NAME.md, or NAME/SKILL.md. The tool reads
// that folder alone, through the file system that it is made with, and writes nothing. A
// name is a name and never a path. Sizes and numbers are bounded.
package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
)

const (
	// toolset is the label of the tool.
	toolset = "skill"
	// maxNameChars bounds a name.
	maxNameChars = 64
	// maxTextBytes bounds a skill: its text is for a model, beside everything else that
	// the model reads.
	maxTextBytes = 64 << 10
	// maxEntries bounds what is looked at in the folder, and maxListed what is listed.
	maxEntries, maxListed = 2000, 200
)

// getInput is the arguments of get_skill.
type getInput struct {
	Name string `json:"name,omitempty" jsonschema:"Name of the skill. Leave out to list the skills that there are."`
}

// Tool returns get_skill for the skills in a folder. It is visible in every role, since
// it touches nothing but instructions that the operator wrote for agents. The folder is
// used by many calls at once and has to keep what is opened within itself, as
// [os.Root.FS] does.
func Tool(folder fs.FS) sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "get_skill", Title: "Get Skill", Toolset: toolset,
		Description: "Read instructions for a kind of work that the operator of this system has written. " +
			"Call it without a name to see which there are, and read the one that fits before you begin.",
		Schema: args.Schema[getInput](func(get func(string) args.Property) {
			get("name").Length(1, maxNameChars)
		}),
		AlwaysInclude: true, ReadOnly: true, Idempotent: true,
	}, func(ctx context.Context, _ *sallyport.Call, in getInput) (sallyport.Result, error) {
		if in.Name == "" {
			return listSkills(ctx, folder)
		}
		return readSkill(ctx, folder, in.Name)
	})
}

// readSkill returns the text of a skill as it is.
func readSkill(ctx context.Context, folder fs.FS, name string) (sallyport.Result, error) {
	if !isName(name) {
		return sallyport.Result{}, newUnknownError(ctx, folder, "a name of a skill has letters, digits, _ and -")
	}
	text, err := readText(folder, name, maxTextBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sallyport.Result{}, newUnknownError(ctx, folder, "no skill has the name "+name)
	case err != nil:
		return sallyport.Result{}, err
	}
	r := sallyport.OK(text)
	r.Structured = map[string]any{"name": name}
	return r, nil
}

// listSkills returns the names of all skills with what each says of itself.
func listSkills(ctx context.Context, folder fs.FS) (sallyport.Result, error) {
	names, more, err := findNames(ctx, folder)
	if err != nil {
		return sallyport.Result{}, err
	}
	var b strings.Builder
	list := []map[string]any{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return sallyport.Result{}, err
		}
		about := readSummary(folder, name)
		fmt.Fprintf(&b, "%s: %s\n", name, about)
		list = append(list, map[string]any{"name": name, "description": about})
	}
	switch {
	case len(names) == 0:
		b.WriteString("There are no skills.")
	case more:
		fmt.Fprintf(&b, "There are more; only the first %d are listed.", maxListed)
	}
	r := sallyport.OK(strings.TrimSuffix(b.String(), "\n"))
	r.Structured = map[string]any{"skills": list}
	return r, nil
}

// newUnknownError refuses a name and says which there are. It says nothing of files that
// are no skills.
func newUnknownError(ctx context.Context, folder fs.FS, what string) error {
	names, more, err := findNames(ctx, folder)
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		return sallyport.InputInvalid(what + ": there are no skills")
	}
	there := strings.Join(names, ", ")
	if more {
		there += ", and more"
	}
	return sallyport.InputInvalid(what + ": there are " + there)
}
