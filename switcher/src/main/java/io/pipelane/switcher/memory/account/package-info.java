/** What the memory daemon tells of itself: its ledger, its counts, and the demand that it sees. */
@NullMarked
package io.pipelane.switcher.memory.account;

import org.jspecify.annotations.NullMarked;
