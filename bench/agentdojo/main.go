// Command agentdojo replays recorded conversations of the AgentDojo benchmark, and
// attacks that know the rules, through a real `serve`, and says what the gate would
// have held, refused and let through.
//
//	go run ./bench/agentdojo -data DIR [-json]
//	go run ./bench/agentdojo roles -data DIR
//	go run ./bench/agentdojo convert -runs DIR -out FILE
//
// README.md beside this file says what the figures mean. All load is on loopback.
package main

import (
	"flag"
	"fmt"
)

// parseFlags reads the flags of a command, which takes no other arguments and needs
// those that are named.
func parseFlags(flags *flag.FlagSet, args []string, needed ...*string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	for _, value := range needed {
		if *value == "" {
			flags.Usage()
			return flag.ErrHelp
		}
	}
	return nil
}

