package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// benchmark is all that is measured with: the data, the roles made of it, and the
// program.
type benchmark struct {
	worlds map[string]suiteWorld
	tasks  map[string]suiteTasks
	runs   []recordedRun
	roles  map[string]string
	known  map[string]knownSets
	needs  map[string]map[string]goalNeeds
	// program and dir are the program and a folder for its states.
	program, dir string
	// atOnce is how many gates serve at the same time.
	atOnce int
	// explained collects cases; nil collects none.
	explained *caseWriter
}

// ruleMode is the rules under which runs are replayed.
type ruleMode string

const (
	// withRoles: the generated role, and the words of the user with the first call.
	withRoles ruleMode = "roles"
	// withDefaults: no rule is written, and the words are not known.
	withDefaults ruleMode = "defaults"
)

// readBenchmark reads a folder of data and makes the roles.
func readBenchmark(data string) (*benchmark, error) {
	b := &benchmark{roles: map[string]string{}, known: map[string]knownSets{}, needs: map[string]map[string]goalNeeds{}}
	var err error
	if b.worlds, err = readWorlds(data); err != nil {
		return nil, err
	}
	if b.tasks, err = readTasks(data); err != nil {
		return nil, err
	}
	if b.runs, err = readRuns(data); err != nil {
		return nil, err
	}
	for name, w := range b.worlds {
		if b.roles[name], err = generateRole(name, w); err != nil {
			return nil, err
		}
		leaves, err := readLeaves(w.Environment)
		if err != nil {
			return nil, err
		}
		b.known[name] = findKnown(w, leaves)
		ofSuite := slices.DeleteFunc(slices.Clone(b.runs), func(r recordedRun) bool { return r.Suite != name })
		b.needs[name] = findNeeds(w, b.tasks[name], ofSuite)
	}
	for i := range b.runs {
		r := &b.runs[i]
		if _, ok := b.worlds[r.Suite]; !ok {
			return nil, fmt.Errorf("a run is of the suite %q, which the data does not have", r.Suite)
		}
	}
	return b, nil
}

// gatedRun is a run that went through the gate.
type gatedRun struct {
	run   *recordedRun
	mode  ruleMode
	calls []gatedCall
}

// runBatch is the runs that one gate serves.
type runBatch struct {
	suite string
	mode  ruleMode
	runs  []*recordedRun
}

// batchesOf divides runs: one gate for each model, suite and mode, and no more
// principals than a configuration may have.
func batchesOf(runs []*recordedRun, modes ...ruleMode) (batches []runBatch) {
	for _, mode := range modes {
		of := map[[2]string][]*recordedRun{}
		for _, r := range runs {
			key := [2]string{r.Model, r.Suite}
			of[key] = append(of[key], r)
		}
		for _, rest := range of {
			for part := range slices.Chunk(rest, maxPrincipals) {
				batches = append(batches, runBatch{part[0].Suite, mode, part})
			}
		}
	}
	// The longest first, so that none is left alone at the end.
	slices.SortFunc(batches, func(a, b runBatch) int {
		return cmp.Or(len(b.runs)-len(a.runs), cmp.Compare(a.suite, b.suite), cmp.Compare(a.mode, b.mode))
	})
	return batches
}

// replayAll replays runs in all modes, several gates at once.
func (b *benchmark) replayAll(ctx context.Context, runs []*recordedRun, modes ...ruleMode) ([]gatedRun, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := batchesOf(runs, modes...)
	queue := make(chan int)
	results, faults := make([][]gatedRun, len(batches)), make([]error, len(batches))
	var workers sync.WaitGroup
	for range b.atOnce {
		workers.Go(func() {
			for i := range queue {
				if results[i], faults[i] = b.replayBatch(ctx, &batches[i]); faults[i] != nil {
					cancel()
				}
			}
		})
	}
	for i := range batches {
		queue <- i
	}
	close(queue)
	workers.Wait()
	// What was cancelled says less than why.
	slices.SortStableFunc(faults, func(a, b error) int {
		return cmp.Compare(boolRank(errors.Is(a, context.Canceled)), boolRank(errors.Is(b, context.Canceled)))
	})
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(results...), nil
}

func boolRank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// replayBatch starts a gate and replays runs through it, one principal each.
func (b *benchmark) replayBatch(ctx context.Context, batch *runBatch) (done []gatedRun, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	role := b.roles[batch.suite]
	if batch.mode == withDefaults {
		role = plainRole(batch.suite)
	}
	dir, err := os.MkdirTemp(b.dir, serverName(batch.suite)+"-")
	if err != nil {
		return nil, err
	}
	g, err := startGate(ctx, b.program, dir, batch.suite, b.worlds[batch.suite], role, len(batch.runs))
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", batch.suite, batch.mode, err)
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	for i, r := range batch.runs {
		words := r.Prompt
		if batch.mode == withDefaults {
			words = ""
		}
		calls, err := g.replayRun(ctx, b.worlds[batch.suite], r, i, words)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", batch.mode, err)
		}
		done = append(done, gatedRun{r, batch.mode, calls})
		if err := b.explained.explainRun(ctx, b, g, &done[i]); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// groundTruthRuns returns the calls that solve each task of all suites, as runs.
func (b *benchmark) groundTruthRuns() (runs []*recordedRun) {
	for _, suite := range sortedKeys(b.tasks) {
		tasks := b.tasks[suite].UserTasks
		for _, name := range sortedKeys(tasks) {
			runs = append(runs, &recordedRun{Suite: suite, UserTask: name, Attack: "none", Prompt: tasks[name].Prompt, Calls: tasks[name].GroundTruth})
		}
	}
	return runs
}
