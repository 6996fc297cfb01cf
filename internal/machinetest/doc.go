// Package machinetest puts contenders into a world of many, around a tree of znodes of their own
// ([Tree]), and plays random schedules there: see recipe/recipetest.
package machinetest
