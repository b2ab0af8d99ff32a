package budget_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
)

// childEnv makes the test binary a process that sends; its value is a childPlan.
const childEnv = "BUDGET_TEST_CHILD"

func TestMain(m *testing.M) {
	if plan := os.Getenv(childEnv); plan != "" {
		if err := beChild(plan); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// childPlan is what a child does.
type childPlan struct {
	Path    string
	Config  budget.Config
	Global  budget.Config
	Wall    time.Time
	Seed    uint64
	Senders int
	Tries   int // of each sender
}

// beChild sends with many senders at once. Each writes what it will use to stdout before it does, so that what a killed child has sent is
// known.
func beChild(text string) error {
	var plan childPlan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return err
	}
	l, err := budget.Open(plan.Path)
	if err != nil {
		return err
	}
	l.Patient()
	a, global := l.Account("target", &plan.Config), l.Account(budget.Global, &plan.Global)
	var senders sync.WaitGroup
	for i := range plan.Senders {
		senders.Go(func() {
			random := rand.New(rand.NewPCG(plan.Seed, uint64(i)))
			for range plan.Tries {
				need := budget.Need{InputTokens: random.Int64N(100), OutputTokens: random.Int64N(200)}
				r, ok := l.Reserve(plan.Wall, need, a, global)
				if !ok {
					continue
				}
				used := budget.Need{InputTokens: random.Int64N(need.InputTokens + 1), OutputTokens: random.Int64N(need.OutputTokens + 1)}
				fmt.Fprintf(os.Stdout, "%d %d\n", used.InputTokens, used.OutputTokens)
				if random.IntN(4) > 0 { // others never end
					r.Settle(used)
				}
			}
		})
	}
	senders.Wait()
	return l.Close()
}

// sums is what children say that they have sent.
type sums struct{ requests, input, output int64 }

// child runs a child and kills it after it has sent so many requests; 0 = never.
func child(t *testing.T, plan *childPlan, kill int64) sums {
	t.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var sent sums
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		input, output, _ := strings.Cut(lines.Text(), " ")
		sent.requests++
		sent.input += number(t, input)
		sent.output += number(t, output)
		if sent.requests == kill {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil && kill == 0 {
		t.Fatalf("child: %v\n%s", err, complaints.String())
	}
	if complaints.Len() > 0 {
		t.Fatalf("child: %s", complaints.String())
	}
	return sent
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestKilledProcessesNeverOverrun: processes that share a file one after the other are killed at random moments. What they have sent
// together keeps all limits of each hour and of the day.
func TestKilledProcessesNeverOverrun(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	plan := childPlan{
		Path:    file(t),
		Config:  budget.Config{RequestsPerHour: 1500, InputTokensPerDay: 140_000, TokensPerHour: 160_000, USDPerDay: 4, USDPerMillionInput: 3, USDPerMillionOutput: 15},
		Global:  budget.Config{RequestsPerDay: 3500, OutputTokensPerDay: 300_000},
		Senders: 50, Tries: 40,
	}
	rounds := 24
	if testing.Short() {
		rounds = 9
	}
	var day, hour sums
	var killed int
	for round := range rounds {
		plan.Wall = noon.Add(time.Duration(3*round/rounds) * time.Hour)
		if round*3%rounds == 0 {
			hour = sums{}
		}
		plan.Seed = random.Uint64()
		kill := 1 + random.Int64N(250)
		if round%12 == 11 {
			kill = 0
		}
		sent := child(t, &plan, kill)
		if kill > 0 && sent.requests >= kill {
			killed++
		}
		for _, total := range []*sums{&hour, &day} {
			total.requests += sent.requests
			total.input += sent.input
			total.output += sent.output
		}
		c := &plan.Config
		if hour.requests > c.RequestsPerHour || hour.input+hour.output > c.TokensPerHour {
			t.Fatalf("round %d: the hour is overrun: %+v", round, hour)
		}
		if day.requests > plan.Global.RequestsPerDay || day.input > c.InputTokensPerDay || day.output > plan.Global.OutputTokensPerDay ||
			3*day.input+15*day.output > 4e6 {
			t.Fatalf("round %d: the day is overrun: %+v", round, day)
		}
	}
	if killed < rounds/4 || day.requests < 1000 {
		t.Errorf("%d children were killed, %d requests sent: that shows nothing", killed, day.requests)
	}
	t.Logf("%d of %d children killed, sent %+v", killed, rounds, day)
}
