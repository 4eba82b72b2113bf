package sandbox

import (
	"slices"

	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// Rights of Landlock by purpose.
const (
	llRead = helper.LandlockReadFile | helper.LandlockReadDir
	llExec = helper.LandlockExecute
	// llWrite makes no devices: a block device is a disk.
	llWrite = helper.LandlockWriteFile | helper.LandlockRemoveDir | helper.LandlockRemoveFile | helper.LandlockMakeDir |
		helper.LandlockMakeReg | helper.LandlockMakeSock | helper.LandlockMakeFifo | helper.LandlockMakeSym |
		helper.LandlockRefer | helper.LandlockTruncate
	llAll = llRead | llExec | llWrite | helper.LandlockMakeChar | helper.LandlockMakeBlock | helper.LandlockIoctlDev
)

// landlockRules returns the grant as rules over paths: what a mistake in the
// tree would show stays closed.
func (r *Runner) landlockRules(j *childJob) *helper.Landlock {
	l := r.newRuleset()
	rule := func(path string, access uint64) {
		l.Rules = append(l.Rules, helper.PathRule{Path: path, Access: access & l.FS, Optional: true})
	}
	for _, dir := range r.visibleDirs() {
		rule(dir, llRead|llExec)
	}
	if r.platform.namespaces {
		// These are the tree's own. Those of the host say too much about it.
		rule("/proc", llRead)
		rule("/etc", llRead)
		if !slices.ContainsFunc(j.plan.areas, func(a reachArea) bool { return !a.read }) {
			// The tree may be looked around in, unless some of it is for
			// writing only.
			rule("/", helper.LandlockReadDir)
		}
		rule(caFile, llRead)
	} else {
		for _, file := range systemFiles {
			rule(file, llRead)
		}
		// A child without accounts of its own needs those of the host to
		// find its own name, and its own entry in /proc.
		rule("/proc/self", llRead)
		// Nothing leads out: a network needs a namespace of its own.
		if r.platform.abi >= 4 {
			l.Net = helper.LandlockBindTCP | helper.LandlockConnectTCP
		}
	}
	rule("/dev", helper.LandlockReadDir)
	for _, d := range devices {
		rule(d, llRead|helper.LandlockWriteFile|helper.LandlockTruncate)
	}
	rule(j.tmp, llRead|llWrite|llExec)
	if r.platform.namespaces {
		rule(varTmpDir, llRead|llWrite|llExec)
	}
	if j.prog.name == helper.ProbeArg0 {
		rule(j.prog.path, llRead|llExec)
	}
	for _, a := range slices.Concat(j.plan.areas, j.plan.packages) {
		var access uint64
		if a.read {
			access |= llRead
		}
		if a.exec {
			access |= llExec
		}
		if a.write {
			access |= llWrite
		}
		rule := helper.PathRule{Path: a.real, Access: access & l.FS}
		if !r.platform.namespaces {
			// The path is the host's, where it may have changed since.
			rule.Dev, rule.Ino = a.dev, a.ino
		}
		l.Rules = append(l.Rules, rule)
	}
	for _, t := range j.plan.trays {
		access := uint64(llTray)
		if t.Read || t.Shown {
			access |= llRead
		}
		rule(t.Dir, access)
	}
	return l
}

// newRuleset returns a ruleset that handles every right that the kernel's
// version of Landlock knows (landlock(7), "Previous limitations").
func (r *Runner) newRuleset() *helper.Landlock {
	abi := r.platform.abi
	l := &helper.Landlock{FS: llAll &^ (helper.LandlockRefer | helper.LandlockTruncate | helper.LandlockIoctlDev)}
	if abi >= 2 {
		l.FS |= helper.LandlockRefer
	}
	if abi >= 3 {
		l.FS |= helper.LandlockTruncate
	}
	if abi >= 5 {
		l.FS |= helper.LandlockIoctlDev
	}
	if abi >= 6 {
		l.Scoped = helper.LandlockAbstractUnix | helper.LandlockSignal
	}
	return l
}
