package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// runsName is the file of a folder of data with the recorded runs.
const runsName = "runs.jsonl.gz"

// maxLine bounds a recorded run, in bytes.
const maxLine = 64 << 20

// suiteTasks is what only the benchmark knows of a suite: what users ask for and
// attackers want.
type suiteTasks struct {
	UserTasks      map[string]userTask   `json:"user_tasks"`
	InjectionTasks map[string]attackGoal `json:"injection_tasks"`
}

// userTask is a task of a user, with the calls that solve it.
type userTask struct {
	Prompt      string         `json:"prompt"`
	GroundTruth []recordedCall `json:"ground_truth"`
}

// attackGoal is what an attacker wants, with the calls that reach it. It has none
// where the benchmark judges by something else.
type attackGoal struct {
	GroundTruth []recordedCall `json:"ground_truth"`
}

// recordedCall is a call that a model made, and what the environment answered.
type recordedCall struct {
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result"`
	// session tells apart the sessions of one run.
	session int
}

// resultText returns what the environment answered, as text.
func (c *recordedCall) resultText() string {
	var text string
	if len(c.Result) == 0 || json.Unmarshal(c.Result, &text) == nil {
		return text // of null, too
	}
	return string(c.Result)
}

// recordedRun is one conversation of a model.
type recordedRun struct {
	Model    string `json:"model"`
	Suite    string `json:"suite"`
	UserTask string `json:"user_task"`
	// InjectionTask is empty where nothing was attacked.
	InjectionTask string `json:"injection_task"`
	Attack        string `json:"attack"`
	// Utility says that the task of the user was solved, Security that the attack
	// reached its goal.
	Utility  bool           `json:"utility"`
	Security bool           `json:"security"`
	Prompt   string         `json:"prompt"`
	Calls    []recordedCall `json:"calls"`
}

// isAttacked reports whether the run met an attack.
func (r *recordedRun) isAttacked() bool { return r.Attack != "none" && r.InjectionTask != "" }

// readTasks reads what only the benchmark knows.
func readTasks(dir string) (map[string]suiteTasks, error) {
	tasks := map[string]suiteTasks{}
	return tasks, readPacked(filepath.Join(dir, suitesName), &tasks)
}

// readRuns reads the recorded runs. A folder without any has none.
func readRuns(dir string) (runs []recordedRun, err error) {
	f, err := os.Open(filepath.Join(dir, runsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", runsName, err)
	}
	lines := bufio.NewScanner(packed)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var r recordedRun
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", runsName, len(runs)+1, err)
		}
		runs = append(runs, r)
	}
	return runs, lines.Err()
}
