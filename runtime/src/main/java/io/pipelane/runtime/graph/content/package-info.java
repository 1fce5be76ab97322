/**
 * What a model's file holds: its constants, wherever their bytes lie, and the values that its nodes
 * read.
 */
@NullMarked
package io.pipelane.runtime.graph.content;

import org.jspecify.annotations.NullMarked;
