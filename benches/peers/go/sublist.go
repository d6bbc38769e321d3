package main

import (
	"fmt"
	"log"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"github.com/nats-io/nats-server/v2/server"
)

// sublist is the index that a broker runs: with its cache of whole subjects, which it empties in part
// when it is full. Its subscriptions have a type of the package, so they are made by reflection.
type sublist struct {
	list *server.Sublist
}

// sink keeps results alive, so that no lookup is removed by the compiler.
var sink *server.SublistResult

// cachedSublist is filled with the patterns; the sid of a subscription is the number of its line.
func cachedSublist(work *workload) sublist {
	made := sublist{server.NewSublistWithCache()}
	insert := reflect.ValueOf(made.list).MethodByName("Insert")
	kind := insert.Type().In(0).Elem()
	subject, _ := kind.FieldByName("subject")
	sid, _ := kind.FieldByName("sid")
	for number, pattern := range work.patterns {
		one := reflect.New(kind)
		at := func(field reflect.StructField) *[]byte {
			return (*[]byte)(unsafe.Add(one.UnsafePointer(), field.Offset))
		}
		*at(subject) = []byte(strings.Clone(pattern))
		*at(sid) = fmt.Append(nil, number)
		if failed := insert.Call([]reflect.Value{one})[0]; !failed.IsNil() {
			log.Fatal(failed)
		}
	}
	return made
}

// matches counts the subscriptions that match some subjects.
func (made sublist) matches(subjects []string) int {
	count := 0
	for _, subject := range subjects {
		count += reflect.ValueOf(made.list.Match(subject)).Elem().FieldByName("psubs").Len()
	}
	return count
}

// round looks every subject up, the few hot ones many times: nanoseconds a lookup.
func (made sublist) round(subjects []string, order string) float64 {
	turns := 1
	if order == "hot" {
		turns = 20
	}
	started := time.Now()
	for range turns {
		for _, subject := range subjects {
			sink = made.list.Match(subject)
		}
	}
	return float64(time.Since(started)) / float64(turns*len(subjects))
}
