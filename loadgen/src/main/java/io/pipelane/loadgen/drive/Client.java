package io.pipelane.loadgen.drive;

import io.pipelane.loadgen.result.Warmth;
import io.pipelane.loadgen.settings.Response;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** One connection of a run together with the request it carries. On the run's thread. */
final class Client implements Connection.Listener {
  private final LoadRun run;
  private final Connection connection;
  private boolean busy;
  private int model;
  private int variant;
  private long request;
  private long intended;
  private long sent;
  private long freeSince;

  @SuppressWarnings("this-escape")
  Client(LoadRun run, Connection.Factory connections) {
    this.run = run;
    this.connection = connections.create(this);
  }

  void open() {
    connection.open();
  }

  void send(long request, int model, int variant, long intended, long now) {
    this.busy = true;
    this.request = request;
    this.model = model;
    this.variant = variant;
    this.intended = intended;
    this.sent = now;
    connection.send(model, variant);
  }

  /** Gives up a request that was sent before a time. */
  void expire(long sentBefore) {
    if (busy && sent < sentBefore) {
      busy = false;
      run.failed(this, model, "no answer", "no answer within the time limit for responses");
      connection.abandon();
    }
  }

  long intended() {
    return intended;
  }

  long sent() {
    return sent;
  }

  long freeSince() {
    return freeSince;
  }

  @Override
  public void ready() {
    freeSince = run.nanoTime();
    run.ready(this);
  }

  @Override
  public void refused(String reason) {
    run.refused(reason);
  }

  @Override
  public void answered(
      int status,
      @Nullable String error,
      int jsonBytes,
      Warmth warmth,
      ByteBuffer body,
      boolean reusable) {
    busy = false;
    freeSince = run.nanoTime();
    Response response = new Response(model, variant, request, status, jsonBytes, body);
    run.answered(this, response, error, warmth, reusable);
  }

  @Override
  public void lost(String reason) {
    if (busy) {
      busy = false;
      run.failed(this, model, "connection lost", reason);
    } else {
      run.lostIdle(this);
    }
  }
}
