package command

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/spf13/cobra"
)

// flagName matches the names of flags in the usage text of a command.
var flagName = regexp.MustCompile(`--([a-z][a-z-]*)`)

// explainUsage changes a command and its subcommands: when a command line does
// not fit, they print which arguments they accept.
func explainUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if check(c, args) == nil {
				return nil
			}
			return checkArguments(c, args)
		}
	}
	cmd.SetFlagErrorFunc(wrongFlag)
	for _, sub := range cmd.Commands() {
		explainUsage(sub)
	}
}

// checkArguments returns the error that names the arguments of a command.
func checkArguments(c *cobra.Command, args []string) error {
	_, takes, _ := strings.Cut(strings.TrimSuffix(c.UseLine(), " [flags]"), c.CommandPath()+" ")
	found := fmt.Sprintf("%d arguments", len(args))
	switch len(args) {
	case 0:
		found = "nothing"
	case 1:
		found = strconv.Quote(args[0])
	}
	if takes == "" {
		return fmt.Errorf("%s: no argument is expected, found %s", c.Name(), found)
	}
	return fmt.Errorf("%s: expected %s, found %s", c.Name(), takes, found)
}

// wrongFlag describes the fault of a flag without the words of the flag parser.
func wrongFlag(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[interface {
		error
		GetSpecifiedName() string
		GetSpecifiedShortnames() string
	}](err); ok && strings.HasPrefix(err.Error(), "unknown ") {
		var known []string
		for _, m := range flagName.FindAllStringSubmatch(c.Flags().FlagUsages(), -1) {
			known = append(known, m[1])
		}
		wrong := fmt.Errorf("%s: %w", c.Name(), err)
		if near := yamldoc.Suggest(unknown.GetSpecifiedName(), known); near != "" {
			return fmt.Errorf("%w (did you mean --%s?)", wrong, near)
		}
		return wrong
	}
	number, ok := errors.AsType[*strconv.NumError](err)
	if !ok {
		return fmt.Errorf("%s: %w", c.Name(), err)
	}
	expected := "a whole number"
	if number.Func == "ParseBool" {
		expected = "true or false"
	}
	what, _, _ := strings.Cut(err.Error(), " flag: ")
	return fmt.Errorf("%s: %s: expected %s", c.Name(), what, expected)
}

// helpCommand shows the help of a command. Unlike the command that it replaces,
// it treats an unknown name as a failure.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			switch {
			case err != nil:
				return groupCommand(root, args)
			case len(rest) > 0:
				return groupCommand(c, rest)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}
