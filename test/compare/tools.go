package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// job is one run of one tool.
type job struct {
	scenario *scenario
	requests int
	host     string // of the server, host:port
	folder   string // the tool's own
}

// tool is a program that puts the load of a scenario on a server and says what it measured.
type tool struct {
	// command prepares the folder and gives the program and its arguments.
	command func(context.Context, *job) ([]string, error)
	// attend stays with the running program until it has ended, and gives what it says.
	attend func(context.Context, *job, *process.Process) (figures, error)
	// fewest requests with which it runs; what it takes for them is its cost of starting.
	fewest int
}

// programs says where things are.
type programs struct {
	floor, exporter string
	peers           string // folder that has the environments of the others
	model           string // folder that has a tokenizer
}

// tools are all, by name.
func (p *programs) tools() map[string]tool {
	return map[string]tool{
		floorTool:    {command: p.floorCommand, attend: attendFloor, fewest: 1},
		ourTool:      {command: p.ourCommand, attend: attendExport(aiperfFile, readAIPerf), fewest: 1},
		daemonTool:   {command: p.daemonCommand, attend: attendDaemon, fewest: 0},
		aiperfTool:   {command: p.aiperfCommand, attend: attendExport(aiperfFile, readAIPerf), fewest: 1},
		guidellmTool: {command: p.guidellmCommand, attend: attendExport(guidellmFile, readGuidellm), fewest: 10},
	}
}

// attendExport attends to a program that ends by itself and leaves its figures in a file.
func attendExport(file string, read func(string) (figures, error)) func(context.Context, *job, *process.Process) (figures, error) {
	return func(ctx context.Context, j *job, p *process.Process) (figures, error) {
		if _, err := p.Wait(ctx); err != nil {
			return figures{}, err
		}
		return read(filepath.Join(j.folder, file))
	}
}

// attendFloor attends to the floor client, which has no figures but a number of requests.
func attendFloor(ctx context.Context, _ *job, p *process.Process) (figures, error) {
	if _, err := p.Wait(ctx); err != nil {
		return figures{}, err
	}
	var told struct {
		Requests int `json:"requests"`
	}
	err := json.Unmarshal([]byte(p.Output()), &told)
	return figures{requests: told.Requests}, err
}

func (p *programs) floorCommand(_ context.Context, j *job) ([]string, error) {
	return []string{
		p.floor, "-address=" + j.host, fmt.Sprintf("-streams=%d", j.scenario.streams), fmt.Sprintf("-requests=%d", j.requests),
		fmt.Sprintf("-tokens=%d", j.scenario.tokens), fmt.Sprintf("-spread=%v", j.scenario.answer()),
	}, nil
}

// Files that the others write.
const (
	aiperfFile   = "profile_export_aiperf.json"
	guidellmFile = "guidellm.json"
)

// inputTokens of a prompt. Prompts are made before they are needed, so their length costs next to nothing.
const inputTokens = 50

// aiperfCommand leaves out what is beside the requests themselves: its pages on the terminal, the GPU, the server's metrics, a file
// for each request, its own tokenizer on the answers.
func (p *programs) aiperfCommand(_ context.Context, j *job) ([]string, error) {
	s := j.scenario
	return slices.Concat(p.scratch(j), []string{
		filepath.Join(p.peers, aiperfTool, "bin", aiperfTool), "profile", "--model=truth", "--url=http://" + j.host, "--endpoint-type=chat", "--streaming",
		"--tokenizer=" + p.model, "--use-server-token-count", "--concurrency=" + strconv.Itoa(s.streams), "--request-count=" + strconv.Itoa(j.requests),
		"--synthetic-input-tokens-mean=" + strconv.Itoa(inputTokens), "--output-tokens-mean=" + strconv.Itoa(s.tokens), "--num-dataset-entries=100",
		"--random-seed=7", "--ui=none", "--no-gpu-telemetry", "--no-server-metrics", "--export-level=summary", "--output-artifact-dir=" + j.folder,
	}), nil
}

func (p *programs) guidellmCommand(_ context.Context, j *job) ([]string, error) {
	s := j.scenario
	return slices.Concat(p.scratch(j), []string{
		filepath.Join(p.peers, guidellmTool, "bin", guidellmTool), "run", "--backend=kind=openai_http,target=http://" + j.host + ",model=truth",
		"--profile=kind=concurrent,streams=" + strconv.Itoa(s.streams), "--constraint=kind=max_requests,count=" + strconv.Itoa(j.requests),
		fmt.Sprintf("--data=kind=synthetic_text,prompt_tokens=%d,output_tokens=%d", inputTokens, s.tokens),
		"--tokenizer=kind=huggingface_auto,model=" + p.model, "--output=kind=json,path=" + filepath.Join(j.folder, guidellmFile), "--disable-console",
	}), nil
}

// scratch keeps what a program writes into its user's folder and among temporary files in the folder of the job.
func (p *programs) scratch(j *job) []string {
	return []string{"env", "HOME=" + j.folder, "TMPDIR=" + j.folder}
}
