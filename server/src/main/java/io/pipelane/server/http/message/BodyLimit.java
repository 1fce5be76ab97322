package io.pipelane.server.http.message;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;

/**
 * The limit on a body's size, packed or not.
 *
 * @param name what it is called where it is changed
 */
public record BodyLimit(int bytes, String name) {
  /** Of requests that say a little, and are read on event loops. */
  private static final int FEW_BYTES = 256 << 10;

  /** Of requests whose body nobody reads. */
  private static final int UNREAD_BYTES = 4 << 10;

  private static final String OF_PATH = "a body may be here";

  /** Of a request that is not admitted. */
  public static final BodyLimit NONE = new BodyLimit(0, OF_PATH);

  /** What a route takes of the server's limit. */
  public static BodyLimit of(Route route, int maxRequestBytes) {
    return switch (route) {
      case Route.Infer _, Route.Load _, Route.SubmitJob _, Route.Upload _ ->
          new BodyLimit(maxRequestBytes, "server.max-request-size");
      case Route.Index _,
          Route.Unload _,
          Route.ChooseVersions _,
          Route.ChangeOptions _,
          Route.ChangeTraceSettings _,
          Route.ChangeLogSettings _,
          Route.RegisterSharedMemory _ ->
          new BodyLimit(Math.min(FEW_BYTES, maxRequestBytes), OF_PATH);
      case Route.ServerMetadata _,
          Route.Live _,
          Route.Ready _,
          Route.ModelMetadata _,
          Route.ModelReady _,
          Route.ModelConfiguration _,
          Route.Statistics _,
          Route.Metrics _,
          Route.StoredVersion _,
          Route.Delete _,
          Route.Versions _,
          Route.Options _,
          Route.Workers _,
          Route.Recycle _,
          Route.OtherHosts _,
          Route.State _,
          Route.Events _,
          Route.Changes _,
          Route.Samples _,
          Route.Page _,
          Route.JobList _,
          Route.ShowJob _,
          Route.RemoveJob _,
          Route.TraceSettings _,
          Route.LogSettings _,
          Route.SharedMemoryStatus _,
          Route.UnregisterSharedMemory _,
          Route.CudaSharedMemory _ ->
          new BodyLimit(Math.min(UNREAD_BYTES, maxRequestBytes), OF_PATH);
    };
  }

  /**
   * Checks what can be checked before a body has come.
   *
   * @throws StatusException {@link Status#TOO_LARGE} for one beyond the limit
   */
  public void check(RequestHead head) {
    if (head.contentLength() > bytes) {
      throw tooLarge("the body of " + head.contentLength() + " bytes is");
    }
  }

  public StatusException tooLarge(String what) {
    return new StatusException(
        Status.TOO_LARGE, what + " larger than " + name + ", " + bytes + " bytes");
  }
}
