/** HTTP/1.1 connections that carry one prepared request at a time. */
@NullMarked
package io.pipelane.loadgen.http;

import org.jspecify.annotations.NullMarked;
