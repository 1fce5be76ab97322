package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Route;
import io.pipelane.server.jobs.JobAnswers;
import io.pipelane.server.jobs.JobStatus;
import io.pipelane.server.jobs.Jobs;
import io.pipelane.server.net.ServerFault;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/** The handler of the routes of jobs. Safe for any event loop. */
public final class JobsApi {
  private static final Duration RETRY_AFTER_BUSY = Duration.ofSeconds(1);

  private final Optional<Jobs> jobs;
  private final Executor codecs;

  /**
   * @param codecs does what writes files
   */
  JobsApi(Optional<Jobs> jobs, Executor codecs) {
    this.jobs = jobs;
    this.codecs = codecs;
  }

  /**
   * Answers one of these routes.
   *
   * @throws StatusException when it cannot be done
   */
  void answer(Exchange exchange, Route.OfJobs route, ByteBuf body) {
    Jobs all = jobs();
    switch (route) {
      case Route.JobList _ -> answer(exchange, JobAnswers.list(all.list()));
      case Route.ShowJob(String id) -> answer(exchange, JobAnswers.job(all.show(id)));
      case Route.SubmitJob _ -> {
        byte[] request = ByteBufUtil.getBytes(body);
        answerElsewhere(exchange, () -> all.submit(request, exchange.caller()));
      }
      case Route.RemoveJob(String id) -> answerElsewhere(exchange, () -> all.remove(id));
    }
  }

  private Jobs jobs() {
    return jobs.orElseThrow(
        () ->
            new StatusException(
                Status.UNIMPLEMENTED, "there are no jobs here; start the server with jobs.folder"));
  }

  private static void answer(Exchange exchange, byte[] json) {
    exchange.answer(Response.ok(exchange.allocator(), target -> target.writeBytes(json)));
  }

  /** Does what writes files on a codec thread, and answers the job. */
  private void answerElsewhere(Exchange exchange, Supplier<JobStatus> work) {
    try {
      codecs.execute(
          () -> {
            try {
              byte[] job = JobAnswers.job(work.get());
              LaterAnswer.onLoop(exchange, () -> answer(exchange, job), () -> {});
            } catch (RuntimeException | OutOfMemoryError e) {
              LaterAnswer.onLoop(
                  exchange, () -> exchange.answer(ServerFault.unlessSaid(e)), () -> {});
            }
          });
    } catch (RejectedExecutionException e) {
      exchange.answer(
          StatusException.unavailable("the server is busy; try again", RETRY_AFTER_BUSY));
    }
  }
}
