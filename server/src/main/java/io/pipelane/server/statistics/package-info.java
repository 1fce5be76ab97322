/** Statistics: what became of requests and where their time went, counted by model version. */
@NullMarked
package io.pipelane.server.statistics;

import org.jspecify.annotations.NullMarked;
