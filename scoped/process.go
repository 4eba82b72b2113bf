package scoped

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// processAccessor is the process accessor of a call. It judges names, arguments
// and the environment; the runner behind it finds the file, confines the child
// and bounds its output.
type processAccessor struct{ b *Binding }

func (p processAccessor) Spawn(
	ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions,
) (sallyport.ProcessResult, error) {
	// A tool may bring a context of its own, which outlives the call; what
	// Spawn waits for does not.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.b.call, cancel)()

	spawn, err := p.prepareSpawn(ctx, binary, args, o)
	if err != nil {
		return sallyport.ProcessResult{}, err
	}
	span := startChildSpan(ctx, binary)
	child, err := p.b.scope.backends.Process.Start(ctx, spawn)
	if err != nil {
		endChildSpan(span, &sallyport.ProcessResult{}, err)
		return sallyport.ProcessResult{}, hideBackendError(p.joinCallError(err), binary+" could not be started")
	}
	defer p.b.scope.running.addChild(child)()
	res, err := child.Wait()
	endChildSpan(span, &res, err)
	// Without a level, a child that failed was not started, and one that ran
	// was held by nothing that is known.
	if err == nil || res.Level != "" {
		p.b.recordLevel(cmp.Or(res.Level, sallyport.LevelNone))
	}
	p.b.recordChildUses(spawn, &res)
	return res, hideBackendError(p.joinCallError(err), binary+" could not be run")
}

// Start starts a granted binary that may outlive the call. What it touches
// after the call is in its own result and in no record of the call.
func (p processAccessor) Start(
	ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions,
) (sallyport.Child, error) {
	spawn, err := p.prepareSpawn(ctx, binary, args, o)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, hideBackendError(p.joinCallError(err), binary+" could not be started")
	}
	level, err := p.b.scope.backends.Process.Confines(spawn.Grant)
	if err != nil {
		return nil, hideBackendError(err, binary+" could not be started")
	}
	// The runner ends the tree with its context, and the child may outlive the
	// call: what bounds it is its timeout, its owner, and the runtime.
	span := startChildSpan(ctx, binary)
	child, err := p.b.scope.backends.Process.Start(context.WithoutCancel(ctx), spawn)
	endStartSpan(span, level, err)
	if err != nil {
		return nil, hideBackendError(err, binary+" could not be started")
	}
	p.b.recordLevel(level)
	p.b.scope.running.addChild(child)()
	if p.b.turn.Outlive == nil {
		return child, nil
	}
	return followChild(child, p.b.turn.Outlive, commandOf(spawn), spawn.Options.Shared), nil
}

// joinCallError adds to an error that the call is over, when it is: the context that
// Spawn hands on says only that it was cancelled.
func (p processAccessor) joinCallError(err error) error {
	if err == nil || p.b.call.Err() == nil {
		return err
	}
	return errors.Join(err, p.b.call.Err())
}

// prepareSpawn checks what a tool asks for and returns what the runner is asked
// for.
func (p processAccessor) prepareSpawn(
	ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions,
) (*sallyport.Spawn, error) {
	if err := p.b.checkLive(); err != nil {
		return nil, err
	}
	if err := p.Probe("", binary); err != nil {
		return nil, err
	}
	spawn := &sallyport.Spawn{
		Grant: p.b.scope.grant, Binary: binary, Workspace: p.b.workspace,
		Principal: p.b.principal,
		// The copy keeps a tool from changing the arguments after the check.
		Args: slices.Clone(args),
	}
	if o != nil {
		spawn.Options = *o
	}
	if err := p.checkOptions(spawn); err != nil {
		return nil, err
	}
	if err := p.insertStandIns(ctx, spawn); err != nil {
		return nil, err
	}
	p.b.recordCommand(commandOf(spawn))
	p.b.recordWithheld()
	p.b.recordAllowed(group.Process, binary, "spawn "+binary+standInsOf(spawn.Options.Secrets))
	return spawn, nil
}

// Probe checks the name of a binary against the grant.
func (p processAccessor) Probe(_, binary string) error {
	if why := reach.RefuseLauncher(binary); why != "" {
		p.b.recordDecision(sallyport.Decision{
			Step: sallyport.StepAccess, Capability: group.Process, Resource: clipNoted(binary),
			Why: clipNoted(binary) + " " + why, Source: reach.FloorSource,
		})
		return sallyport.BinaryError(binary, why)
	}
	if !reach.MatchBinary(p.b.scope.grant.Process.Binaries, binary) {
		p.b.recordRefusal(group.Process, binary, matchesItem(reach.MatchBinary, binary))
		return sallyport.BinaryError(binary, "")
	}
	return nil
}

// standInsOf says for the record which secrets a child uses without seeing
// them.
func standInsOf(secrets []sallyport.ChildSecret) string {
	var b strings.Builder
	for i, s := range secrets {
		if i == 0 {
			b.WriteString(" with stand-ins:")
		}
		fmt.Fprintf(&b, " %s for %s;", s.Ref, strings.Join(s.Hosts, ", "))
	}
	return strings.TrimSuffix(b.String(), ";")
}

type refusedProcess struct{ note func(sallyport.Decision) }

func (p refusedProcess) Spawn(
	_ context.Context, binary string, _ []string, _ *sallyport.SpawnOptions,
) (sallyport.ProcessResult, error) {
	return sallyport.ProcessResult{}, p.Probe("", binary)
}

func (p refusedProcess) Start(
	_ context.Context, binary string, _ []string, _ *sallyport.SpawnOptions,
) (sallyport.Child, error) {
	return nil, p.Probe("", binary)
}

func (p refusedProcess) Probe(_, binary string) error {
	sendDecision(p.note, newRefusal(group.Process, binary))
	return sallyport.BinaryError(binary, "")
}
