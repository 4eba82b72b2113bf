// Package granting changes what a server, a role or a tool may touch, or puts another
// configuration in force: in the configuration and in the lock file, in one step.
//
// Start with [NewPlan], which finds the edits and loads the result, and
// [Plan.Apply], which writes it. It asks no question: the caller shows
// [Plan.Difference] and asks. [NewPromotion] does the same with a whole file.
package granting
