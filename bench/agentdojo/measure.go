package main

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

// gatedRun is a run that went through the gate.
type gatedRun struct {
	run   *recordedRun
	mode  ruleMode
	calls []gatedCall
}

