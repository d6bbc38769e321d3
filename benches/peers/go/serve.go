package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"runtime"
	"time"
)

// serve answers commands from standard input, one a line: `answers SIZE ORDER` with a checksum,
// `lookup SIZE ORDER` with the nanoseconds a lookup of one round over all subjects, `cached SIZE ORDER`
// with those of the broker's index with its cache. So a program that asks several others in turn has
// them all in the same moments.
func serve(folder string) {
	type filledOne struct {
		work   *workload
		made   *index
		cached *sublist
	}
	all := map[int]filledOne{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var what, order string
		var size int
		if _, err := fmt.Sscan(lines.Text(), &what, &size, &order); err != nil {
			fmt.Println("null")
			continue
		}
		one, there := all[size]
		if !there {
			work := read(folder, size)
			one = filledOne{work, filled(work), new(sublist)}
			all[size] = one
			runtime.GC()
		}
		subjects := one.work.orders[order]
		if what == "answers" {
			sum, matches := checksum(one.made, subjects)
			fmt.Printf("{\"checksum\": %q, \"matches\": %d}\n", sum, matches)
			continue
		}
		if what == "cached" {
			if one.cached.list == nil {
				*one.cached = cachedSublist(one.work)
				_, matches := checksum(one.made, subjects)
				if found := one.cached.matches(subjects[:min(compared, len(subjects))]); found != matches {
					log.Fatalf("the answers differ: %d, not %d", found, matches)
				}
				runtime.GC()
			}
			fmt.Println(one.cached.round(subjects, order))
			continue
		}
		fmt.Println(round(one.made, subjects, order))
	}
}

// round looks every subject up, the few hot ones many times: nanoseconds a lookup.
func round(made *index, subjects []string, order string) float64 {
	turns := 1
	if order == "hot" {
		turns = 20
	}
	found := 0
	note := func(uint32) { found++ }
	started := time.Now()
	for range turns {
		for _, subject := range subjects {
			made.Match(subject, note)
		}
	}
	return float64(time.Since(started)) / float64(turns*len(subjects))
}
