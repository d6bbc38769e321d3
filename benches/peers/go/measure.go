package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	who        = "gsl (Go)"
	compared   = 10_000
	block      = 100
	longEnough = 800 * time.Millisecond
)

// row is printed as one line of JSON.
type row map[string]any

func (r row) print(measure string, size int) {
	r["who"], r["measure"], r["size"] = who, measure, size
	line, err := json.Marshal(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

// spread is times in nanoseconds, in ascending order.
type spread []float64

func spreadOf(times []float64) spread {
	slices.Sort(times)
	return times
}

func (s spread) at(thousandths int) float64 {
	return math.Round(s[(len(s)-1)*thousandths/1000]*10) / 10
}

// clockCost is what one reading of the clock adds to a time.
func clockCost() float64 {
	times := make([]float64, 10_001)
	for n := range times {
		times[n] = float64(time.Since(time.Now()))
	}
	return spreadOf(times).at(500)
}

func corrected(since time.Time, clock float64) float64 {
	return max(float64(time.Since(since))-clock, 0)
}

func lookups(work *workload) {
	made := filled(work)
	runtime.GC()
	clock := clockCost()
	for _, order := range orders {
		subjects := work.orders[order]
		sum, matches := checksum(made, subjects)
		blocks, singles := times(made, subjects, clock)
		row{
			"order": order, "median_ns": blocks.at(500), "p99_ns": singles.at(990),
			"checksum": sum, "matches": matches,
		}.print("lookup", work.size)
	}
}

// checksum is one number for the answers to the first subjects, the same in every language.
func checksum(made *index, subjects []string) (string, int) {
	var sum, one uint64
	matches := 0
	note := func(value uint32) {
		mixed := (uint64(value) + 1) * 0x9E3779B97F4A7C15
		one += mixed ^ mixed>>32
		matches++
	}
	for _, subject := range subjects[:min(compared, len(subjects))] {
		one = 0
		made.Match(subject, note)
		sum = sum*31 + one
	}
	return fmt.Sprintf("%016x", sum), matches
}

// times in nanoseconds a lookup, of blocks and of single lookups, after one round unmeasured.
func times(made *index, subjects []string, clock float64) (spread, spread) {
	found := 0
	note := func(uint32) { found++ }
	for _, subject := range subjects {
		made.Match(subject, note)
	}
	var blocks, singles []float64
	for started := time.Now(); time.Since(started) < longEnough; {
		for from := 0; from+block <= len(subjects); from += block {
			before := time.Now()
			for _, subject := range subjects[from : from+block] {
				made.Match(subject, note)
			}
			blocks = append(blocks, corrected(before, clock)/block)
		}
	}
	for started := time.Now(); time.Since(started) < longEnough/2; {
		for _, subject := range subjects {
			before := time.Now()
			made.Match(subject, note)
			singles = append(singles, corrected(before, clock))
		}
	}
	return spreadOf(blocks), spreadOf(singles)
}

// memory is the growth of the heap, garbage collected before and after.
func memory(work *workload) {
	before := held()
	made := filled(work)
	after := held()
	row{
		"heap_bytes": math.Round(float64(after-before)/float64(work.size)*10) / 10,
	}.print("memory", work.size)
	runtime.KeepAlive(made)
	runtime.KeepAlive(work)
}

func held() uint64 {
	var now runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&now)
	return now.HeapAlloc
}

func build(work *workload) {
	var rates []float64
	for range min(max(100_000/work.size, 3), 50) {
		runtime.GC()
		started := time.Now()
		made := filled(work)
		rates = append(rates, float64(time.Since(started)))
		runtime.KeepAlive(made)
	}
	median := spreadOf(rates).at(500)
	row{
		"per_second": math.Round(float64(work.size) / median * 1e9),
	}.print("build", work.size)
}

// churn keeps the size: one subscription drawn at random goes, a new one comes.
func churn(work *workload) {
	made := filled(work)
	runtime.GC()
	clock := clockCost()
	type live struct {
		pattern string
		value   uint32
	}
	all := make([]live, work.size)
	for number, pattern := range work.patterns {
		all[number] = live{strings.Clone(pattern), uint32(number)}
	}
	var inserts, removes []float64
	random := uint64(88_172_645_463_325_252)
	for number, pattern := range work.added {
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		at := random % uint64(len(all))
		gone := all[at]
		before := time.Now()
		err := made.Remove(gone.pattern, gone.value)
		removes = append(removes, corrected(before, clock))
		if err != nil {
			log.Fatal(err)
		}
		came := live{strings.Clone(pattern), uint32(work.size + number)}
		before = time.Now()
		err = made.Insert(came.pattern, came.value)
		inserts = append(inserts, corrected(before, clock))
		if err != nil {
			log.Fatal(err)
		}
		all[at] = came
	}
	printSpread("remove", work.size, removes)
	printSpread("insert", work.size, inserts)
}

// grow times every single insert from empty to all.
func grow(work *workload) {
	clock := clockCost()
	made := filled(&workload{})
	times := make([]float64, 0, work.size)
	for number, pattern := range work.patterns {
		pattern = strings.Clone(pattern)
		before := time.Now()
		err := made.Insert(pattern, uint32(number))
		times = append(times, corrected(before, clock))
		if err != nil {
			log.Fatal(err)
		}
	}
	printSpread("grow", work.size, times)
}

func printSpread(measure string, size int, times []float64) {
	all := spreadOf(times)
	row{
		"median_ns": all.at(500), "p99_ns": all.at(990), "p999_ns": all.at(999),
		"max_ns": all.at(1000),
	}.print(measure, size)
}
