package main

import (
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tier"
)

// scratch is a directory for what tests share.
var scratch string

// helperRole makes the test binary a worker for the tests of the pool.
const helperRole = "WORKERPOOL_TEST_HELPER"

func TestMain(m *testing.M) {
	if role := os.Getenv(helperRole); role != "" {
		help(role)
		return
	}
	tier.Fix()
	var err error
	if scratch, err = os.MkdirTemp("", "workerpool-test-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(scratch)
		os.Exit(code)
	}))
}

func help(role string) {
	out := newReporter(os.Stdout)
	out.send(report{Epoch: 1, Session: 7, Timeout: 1})
	if role == "quits" {
		return
	}
	fmt.Println("{\"epoch\":1,") // a line that is cut off
	_, _ = io.Copy(io.Discard, os.Stdin)
	if role == "deaf" {
		select {}
	}
	out.send(report{Refused: &refusal{Batch: 3, Token: 9}})
}
