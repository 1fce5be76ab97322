/** Requests, prepared from what a server says about its models. */
@NullMarked
package io.pipelane.loadgen.request;

import org.jspecify.annotations.NullMarked;
