// Measures nats-server's exported subject index, gsl, on the workload files, one JSON row a line.
//
//	go build -o gsl . && ./gsl -folder ../../workloads -sizes 1000,6000 [-parts lookups,memory,changes,grow]
//
// Match takes a callback, so that a lookup allocates nothing. The rows have the form of those of
// benches/core; benches/README.md says what each field means and how it is measured.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server/gsl"
)

type index = gsl.GenericSublist[uint32]

// orders in which subjects come.
var orders = []string{"hot", "zipf", "uniform"}

func main() {
	folder := flag.String("folder", "../../workloads", "where the workload files lie")
	given := flag.String("sizes", "1000,6000", "numbers of subscriptions, with commas")
	parts := flag.String("parts", "lookups,memory,changes,grow", "what to measure")
	version := flag.Bool("version", false, "print the version of nats-server and end")
	serving := flag.Bool("serve", false, "answer commands from standard input")
	flag.Parse()
	if *version {
		printVersion()
		return
	}
	if *serving {
		serve(*folder)
		return
	}
	var sizes []int
	for _, one := range strings.Split(*given, ",") {
		size, err := strconv.Atoi(one)
		if err != nil {
			log.Fatal(err)
		}
		sizes = append(sizes, size)
	}
	wants := func(part string) bool { return slices.Contains(strings.Split(*parts, ","), part) }
	for _, size := range sizes {
		work := read(*folder, size)
		if wants("memory") {
			memory(work)
		}
		if wants("lookups") {
			lookups(work)
		}
		if wants("changes") {
			build(work)
			churn(work)
		}
		if wants("grow") && size == slices.Max(sizes) {
			grow(work)
		}
	}
}

func printVersion() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/nats-io/nats-server/v2" {
			fmt.Printf("%s %s\n", info.GoVersion, module.Version)
		}
	}
}

// workload is what benches/workload.py wrote for one size.
type workload struct {
	size            int
	patterns, added []string
	orders          map[string][]string
}

func read(folder string, size int) *workload {
	lines := func(name string) []string {
		text, err := os.ReadFile(filepath.Join(folder, strconv.Itoa(size), name+".txt"))
		if err != nil {
			log.Fatalf("%v; write it with benches/workload.py", err)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	work := &workload{size, lines("patterns"), lines("added"), map[string][]string{}}
	for _, order := range orders {
		work.orders[order] = lines(order)
	}
	return work
}

// filled is an index of the patterns: a subscription's value is the number of its line. Each
// pattern is a copy, as a broker would have it, so that its bytes count as the index's.
func filled(work *workload) *index {
	made := gsl.NewSublist[uint32]()
	for number, pattern := range work.patterns {
		if err := made.Insert(strings.Clone(pattern), uint32(number)); err != nil {
			log.Fatal(err)
		}
	}
	return made
}
