// Package suggest finds the least role that would have allowed the calls which a role
// made.
//
// Start with [New], give it the calls that were allowed with [Record.Add], and ask for the
// role with [Record.Draft]. The caller builds a configuration with that role and proves it: the
// calls are decided again, and [Record.CheckGrant] compares what each tool was seen to
// touch, and what it may touch today, with what it would get. A part that does not hold is
// left as it is today: see [Wide].
//
// A role is only ever narrowed. What the values of agents say goes into it as values of a
// tree, never as text.
package suggest
