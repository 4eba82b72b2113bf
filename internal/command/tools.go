package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/modelformat"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

func toolsCommand(env *environment, f *flags) *cobra.Command {
	var r callerFlags
	var dialect, form string
	var names bool
	var permissions []string
	cmd := &cobra.Command{
		Use:   "tools [NAME]",
		Short: "List what a personality sees",
		Long: `List the tools that a personality sees. The command starts the MCP servers of the
personality to ask what they offer. --form prompt and --form resource list
prompts and resources by the names that call accepts.

With NAME it prints one tool with its arguments and an example call.

--format prints the definitions for the API of a model, with names within its
limits and schemas within its subset. A name that had to change is printed on
standard error. --permission lists the tools that ask for at least one of the given
permissions. --names prints only these: the name for the model, then the name
for call.`,
		Example: `  sallyport tools
  sallyport tools read_file
  sallyport tools --format anthropic
  sallyport tools --format gemini --names
  sallyport tools --permission http:read,file:read
  sallyport tools --form prompt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (dialect != "" || form != "tool") {
				return errors.New("tools: give NAME, or --format or --form")
			}
			if permissions != nil && (len(args) > 0 || dialect != "" || form != "tool" || slices.Contains(permissions, "")) {
				return errors.New("tools: --permission takes permissions, and no NAME, --format or --form beside it")
			}
			if names && dialect == "" {
				return errors.New("tools: --names needs --format")
			}
			return r.withGate(cmd.Context(), env, f, app.OpenForQuestions, func(rt *app.Runtime, caller *sallyport.Caller) error {
				rt.FindServers(cmd.Context(), caller, rt.InForce().ServersOfRole(caller.Personality), app.EveryLeft)
				p := env.newPrinter(f)
				if dialect != "" && form != "tool" {
					return errors.New("--format is for tools: leave out --form")
				}
				if permissions != nil {
					tools := slices.DeleteFunc(rt.InForce().Registry.List(caller), func(t sallyport.Tool) bool { return t.ListedAs != "" || !t.AsksFor(permissions...) })
					if len(tools) == 0 && !p.JSON {
						p.PrintLine("no tools: none that this personality sees asks for %s", strings.Join(permissions, " or "))
						return nil
					}
					return report.PrintTools(p, tools)
				}
				if len(args) > 0 {
					t, err := findTool(rt.InForce().Registry.List(caller), args[0])
					if err != nil {
						return err
					}
					return report.PrintTool(p, t, r.callCommand(env, f))
				}
				if dialect != "" {
					defs := rt.InForce().Registry.Definitions(caller)
					return printDefinitions(env, p, dialect, names, slices.DeleteFunc(defs, func(d registry.Definition) bool { return d.ListedAs != "" }))
				}
				return printForm(rt, p, caller, form)
			})
		},
	}
	r.registerFlags(cmd)
	cmd.Flags().StringVar(&dialect, "format", "", "print definitions for a model: `openai|anthropic|gemini|mcp`")
	cmd.Flags().StringSliceVar(&permissions, "permission", nil, "list only tools that ask for one of these `PERMISSIONS`")
	cmd.Flags().BoolVar(&names, "names", false, "with --format: print only the names that had to change")
	cmd.Flags().StringVar(&form, "form", "tool", "what to list: `tool|prompt|resource`")
	return cmd
}

// printDefinitions prints definitions in the form that a model's API accepts.
// Standard output holds that form and nothing else; notes about differences go
// to standard error.
func printDefinitions(env *environment, p *report.Printer, dialect string, names bool, defs []registry.Definition) error {
	d, err := modelformat.Parse(dialect)
	if err != nil {
		return err
	}
	set, err := d.Tools(defs)
	if err != nil {
		return err
	}
	if names {
		return p.PrintJSON(set.Names)
	}
	for _, name := range slices.Sorted(maps.Keys(set.Names)) {
		fmt.Fprintf(env.Stderr, "sallyport: %s has the name %s for %s: a call here takes the first\n", set.Names[name], name, d)
	}
	for _, n := range set.Notes {
		fmt.Fprintf(env.Stderr, "sallyport: %s: %s\n", n.Tool, n.Message)
	}
	return p.PrintJSON(set.Document)
}

// findTool returns the one of the tools that has a name.
func findTool(tools []sallyport.Tool, name string) (*sallyport.Tool, error) {
	names := make([]string, len(tools))
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i], nil
		}
		names[i] = tools[i].Name
	}
	why := fmt.Sprintf("this personality sees no tool %q", name)
	if near := text.Nearest(name, names); near != "" {
		why += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, &exitError{code: exitFailed, err: fmt.Errorf("%s: 'sallyport tools' lists them", why)}
}

// printForm lists the prompts or resources that a personality sees.
func printForm(rt *app.Runtime, p *report.Printer, caller *sallyport.Caller, form string) error {
	switch sallyport.Form(form) {
	case sallyport.FormPrompt:
		return report.PrintPrompts(p, rt.InForce().Registry.Prompts(caller))
	case sallyport.FormResource:
		return report.PrintResources(p, rt.ListResources(caller))
	default:
		if form != "tool" {
			return fmt.Errorf("--form %q: expected tool, prompt or resource", form)
		}
		tools := rt.InForce().Registry.List(caller)
		return report.PrintTools(p, slices.DeleteFunc(tools, func(t sallyport.Tool) bool { return t.ListedAs != "" }))
	}
}
