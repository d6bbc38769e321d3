// Answers questions about subjects with the exported functions of nats-server, one JSON line each.
//
// A question is a list. An index of numbers is kept between questions:
//
//	["clear"], ["add", pattern, number], ["remove", pattern, number]: true, or an error as text
//	["match", subject]: the sorted numbers; ["interest", subject]: whether there are any
//	["count"]: how many subscriptions the index has
//
// Without an index:
//
//	["subject", text], ["literal", text]: whether it is a valid pattern, and a valid subject
//	["collide", pattern, other]: whether a subject matches both
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats-server/v2/server/gsl"
)

type peer struct {
	index *gsl.GenericSublist[int]
}

func (p *peer) answer(question []any) any {
	text := func(place int) string {
		found, _ := question[place].(string)
		return found
	}
	number := func(place int) int {
		found, _ := question[place].(float64)
		return int(found)
	}
	switch question[0] {
	case "clear":
		p.index = gsl.NewSublist[int]()
		return true
	case "add":
		return said(p.index.Insert(text(1), number(2)))
	case "remove":
		return said(p.index.Remove(text(1), number(2)))
	case "match":
		found := []int{}
		p.index.Match(text(1), func(one int) { found = append(found, one) })
		slices.Sort(found)
		return found
	case "interest":
		return p.index.HasInterest(text(1))
	case "count":
		return p.index.Count()
	case "subject":
		return server.IsValidSubject(text(1))
	case "literal":
		return server.IsValidLiteralSubject(text(1))
	case "collide":
		return server.SubjectsCollide(text(1), text(2))
	case "version":
		info, _ := debug.ReadBuildInfo()
		for _, module := range info.Deps {
			if module.Path == "github.com/nats-io/nats-server/v2" {
				return module.Version
			}
		}
	}
	return nil
}

func said(err error) any {
	if err != nil {
		return err.Error()
	}
	return true
}

func main() {
	one := &peer{gsl.NewSublist[int]()}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		// A line holds many questions, so that a round trip is paid once for all of them.
		var questions [][]any
		if err := json.Unmarshal(lines.Bytes(), &questions); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		answers := make([]any, len(questions))
		for place, question := range questions {
			answers[place] = one.answer(question)
		}
		told, err := json.Marshal(answers)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		out.Write(told)
		out.WriteByte('\n')
		out.Flush()
	}
}
