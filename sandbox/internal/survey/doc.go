// Package survey walks trees of the host for the sandbox: before
// a run it finds what of the always-deny floor exists below the reach, so that
// mounts can cover it, and after a run what was written there.
//
// Start with [New]. [Surveyor.Floor] returns the masks, [Pins] the directories
// that must not be renamed for the masks to stay where they are,
// [Surveyor.Planted] what is new on the floor since, [Surveyor.Changed] what
// changed. Neither says who did it.
//
// The package reads names and metadata, never contents. It follows a symbolic
// link only to learn which directory has a second name. What it reports is
// true of the moment at which it looked: a child that runs at the same time
// may change the tree behind its back, in the reach that it was given.
package survey
