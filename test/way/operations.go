package main

import (
	"time"

	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
)

// work is how long a possession lasts: until its znode is watched.
const work = 12 * time.Millisecond

// operations prepare an operation, and return the function that runs it.
var operations = map[string]func(*way) func(){
	"lock": func(w *way) func() {
		l, err := lock.New(w.session, "/locks/orders")
		w.check(err)
		return func() {
			w.stage("Acquire")
			l.Acquire()
			<-l.Acquired()
			w.stage("the grant is held")
			<-time.After(work)
			w.stage("Release")
			w.check(l.Withdraw(w.Context()))
		}
	},
	"watch": func(w *way) func() {
		_, err := w.session.Create(w.Context(), "/data", nil)
		w.check(err)
		data := w.session.WatchData(w.Context(), "/data")
		<-data
		return func() {
			w.stage("Set")
			_, err := w.session.Set(w.Context(), "/data", nil, -1)
			w.check(err)
			<-data
		}
	},
	"config": func(w *way) func() {
		cell, err := config.Open(w.Context(), w.session, "/limits", config.Text())
		w.check(err)
		states := cell.Observe(w.Context())
		<-states
		return func() {
			w.stage("Update")
			_, err := cell.Update(w.Context(), func(old string) (string, error) { return old + "more", nil })
			w.check(err)
			<-states
		}
	},
	"election": func(w *way) func() {
		e, err := election.New(w.session, "/elections/orders")
		w.check(err)
		return func() {
			w.stage("Campaign")
			e.Campaign()
			<-e.Leader()
			w.stage("the term has begun")
			<-time.After(work)
			w.stage("Withdraw")
			w.check(e.Withdraw(w.Context()))
		}
	},
	"item": func(w *way) func() {
		orders, err := queue.New(w.session, "/queues/orders")
		w.check(err)
		consumer, err := orders.Consume()
		w.check(err)
		return func() {
			w.stage("Put")
			_, err := orders.Put(w.Context(), []byte("tea"))
			w.check(err)
			item := <-consumer.Items()
			w.stage("Ack")
			w.check(item.Ack(w.Context()))
		}
	},
}
