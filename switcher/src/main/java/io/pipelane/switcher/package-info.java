/** What is where and what runs next: the memory daemon, its ledger, workers and the scheduler. */
@NullMarked
package io.pipelane.switcher;

import org.jspecify.annotations.NullMarked;
