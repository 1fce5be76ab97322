package io.pipelane.server.jobs;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.placement.PlacedJob;
import io.pipelane.server.protocol.inference.JsonInference;
import io.pipelane.server.statistics.BatchRows;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.Deadline;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.JobWork;
import io.pipelane.switcher.NeverFits;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.RunPlace;
import io.pipelane.switcher.SequenceStep;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One item of a job on its way from its line to its row. Started, awaited and ended by the job's
 * thread; a lane's thread places the outputs in between.
 */
final class JobItem {
  private static final System.Logger LOG = System.getLogger(JobItem.class.getName());

  /** What depends on the item alone. */
  private static final Set<Status> WRONG =
      Set.of(
          Status.INVALID_ARGUMENT,
          Status.TOO_LARGE,
          Status.UNIMPLEMENTED,
          Status.INSUFFICIENT_MEMORY);

  /** What does not depend on the item: the queue is full, the model or the device is gone. */
  private static final Set<Status> AGAIN =
      Set.of(Status.UNAVAILABLE, Status.NOT_FOUND, Status.CANCELLED, Status.DEVICE_FAILURE);

  private final long number;
  private final ItemFile.Item item;
  private @Nullable Attempt attempt;
  private @Nullable Row known;

  JobItem(long number, ItemFile.Item item) {
    this.number = number;
    this.item = item;
  }

  /** Its place among the job's items, counted from 0. */
  long number() {
    return number;
  }

  /** Has its row be what an earlier attempt came to, instead of starting it. */
  void takes(Row row) {
    known = row;
  }

  /** Where the next item begins. */
  long next() {
    return item.next();
  }

  /**
   * Asks for the inference; what is wrong is told by {@link #await}.
   *
   * @param work what the item is a part of, told what it took
   * @param step of which sequence, for a model that keeps state
   * @param place the device that it is to run on; empty for any
   * @return whether it was taken
   */
  boolean start(
      ServedModel model,
      JobParts parts,
      Priority priority,
      JobWork work,
      Optional<SequenceStep> step,
      Optional<PlacedJob> place) {
    Attempt begun = new Attempt(work, place);
    attempt = begun;
    return begun.start(item, model, parts, priority, step);
  }

  /** Whether it was asked for, or its row is known, and not awaited yet. */
  boolean isStarted() {
    return attempt != null || known != null;
  }

  /**
   * Waits for the inference's end.
   *
   * @return the item's row, with the end of its line
   * @throws StatusException when it is not the item's fault, and it is to be started again, or none
   *     is where {@link NeverFits} is behind it
   */
  Row await() {
    @Nullable Row row = known;
    if (row != null) {
      return row;
    }
    Attempt ended = attempt;
    if (ended == null) {
      throw new IllegalStateException("item " + number + " was not started");
    }
    attempt = null;
    try (ended) {
      ended.end.join();
      return row("response", ended.answer(), Optional.empty());
    } catch (StatusException e) {
      if (AGAIN.contains(e.status()) || NeverFits.isBehind(e)) {
        throw e;
      }
      return row("error", JobJson.quoted(String.valueOf(e.getMessage())), Optional.of(e.status()));
    }
  }

  /** Waits until its request has ended, or something else has; false where that was first. */
  boolean endsBefore(CompletableFuture<Void> other) {
    return attempt == null || attempt.end.isBefore(other);
  }

  /** Has its request end now unless it has begun to run; {@link #await} tells how it ended. */
  void withdraw() {
    if (attempt != null) {
      attempt.withdraw();
    }
  }

  /** Has its request end, at its next gate if it runs; {@link #await} tells how it ended. */
  void cancel() {
    if (attempt != null) {
      attempt.cancel();
    }
  }

  /** Cancels the item, and waits until its request has ended. */
  void abandon() {
    if (attempt != null) {
      try (Attempt withdrawn = attempt) {
        attempt = null;
        withdrawn.cancel();
        withdrawn.end.join();
      } catch (StatusException e) {
        // Nobody wants to know.
      }
    }
  }

  private Row row(String member, byte[] json, Optional<Status> failure) {
    ByteArrayOutputStream line = new ByteArrayOutputStream(json.length + 64);
    line.writeBytes(
        "{\"item\":%d,\"%s\":".formatted(number, member).getBytes(StandardCharsets.UTF_8));
    line.writeBytes(json);
    line.writeBytes("}\n".getBytes(StandardCharsets.UTF_8));
    return new Row(line.toByteArray(), failure);
  }

  /** A line of the output. */
  static final class Row {
    private final byte[] line;
    private final Optional<Status> failure;

    private Row(byte[] line, Optional<Status> failure) {
      this.line = line;
      this.failure = failure;
    }

    /** With its end. */
    byte[] line() {
      return line;
    }

    boolean hasFailed() {
      return failure.isPresent();
    }

    /** Whether it would fail again however often it is asked for. */
    boolean isWrong() {
      return failure.filter(WRONG::contains).isPresent();
    }
  }

  /** One request for the item. */
  private static final class Attempt implements ResultHandler, AutoCloseable {
    final Ending end = new Ending();
    private final JobWork work;
    private final Optional<PlacedJob> place;
    private @Nullable JsonInference inference;
    private @Nullable RequestAccount account;
    private InferenceService.@Nullable Ticket ticket;

    Attempt(JobWork work, Optional<PlacedJob> place) {
      this.work = work;
      this.place = place;
    }

    boolean start(
        ItemFile.Item item,
        ServedModel model,
        JobParts parts,
        Priority priority,
        Optional<SequenceStep> step) {
      try {
        RequestAccount counted = parts.statistics().begin(model.version());
        account = counted;
        if (item.isTooLong()) {
          throw new StatusException(
              Status.TOO_LARGE,
              "the item's line is longer than %d bytes (server.max-request-size)"
                  .formatted(item.text().length));
        }
        model.checkRequestSize(() -> item.text().length);
        JsonInference read = JsonInference.read(model, item.text());
        inference = read;
        InferenceRequest request = read.request();
        counted.decoded(OptionalLong.empty(), BatchRows.of(model.inputs(), request.inputs()));
        ticket =
            parts
                .service()
                .submit(
                    new InferenceRequest(
                        request.model(),
                        request.inputs(),
                        request.outputs(),
                        Deadline.NONE,
                        priority,
                        step,
                        Optional.of(work),
                        RunPlace.ANY.on(place.map(at -> at.place().device()))),
                    this);
        return true;
      } catch (StatusException e) {
        failed(e);
        return false;
      } catch (RuntimeException | Error e) { // Whoever awaits it is told in any case.
        LOG.log(System.Logger.Level.ERROR, "an item of a job failed on a fault of the server", e);
        failed(new StatusException(Status.INTERNAL, "a fault of the server: " + e, e));
        return false;
      }
    }

    void cancel() {
      if (ticket != null) {
        ticket.cancel();
      }
    }

    void withdraw() {
      if (ticket != null) {
        ticket.withdraw();
      }
    }

    byte[] answer() {
      if (inference == null) {
        throw new IllegalStateException("nothing was asked");
      }
      try {
        byte[] answer = inference.answer();
        if (account != null) {
          account.answered();
        }
        return answer;
      } catch (StatusException e) {
        if (account != null) {
          account.failed(e.status());
        }
        throw e;
      }
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      if (inference == null) {
        throw new IllegalStateException("nothing was asked");
      }
      return inference.place(name, type, shape, byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      if (account != null) {
        account.ran(timings);
      }
      place.ifPresent(at -> at.ran(timings));
      work.ran(timings.computedNanos());
      end.complete(null);
    }

    @Override
    public void failed(StatusException error) {
      if (account != null) {
        account.failed(error.status());
      }
      end.complete(error);
    }

    @Override
    public void close() {
      if (account != null) {
        account.failed(Status.CANCELLED); // Unless it has ended: nobody has taken the answer.
      }
      if (inference != null) {
        inference.close();
      }
    }
  }

  /** The end of a request, for the thread that waits for it. */
  private static final class Ending {
    private final CompletableFuture<@Nullable StatusException> error = new CompletableFuture<>();

    void complete(@Nullable StatusException failure) {
      error.complete(failure);
    }

    boolean isBefore(CompletableFuture<Void> other) {
      CompletableFuture.anyOf(error, other).join();
      return error.isDone();
    }

    void join() {
      StatusException failure = error.join();
      if (failure != null) {
        throw failure;
      }
    }
  }
}
