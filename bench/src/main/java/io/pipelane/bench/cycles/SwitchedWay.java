package io.pipelane.bench.cycles;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.account.TransferCounters;
import java.util.Map;

/** Pipelane's way: whoever is asked has its weights brought in. */
final class SwitchedWay implements Way {
  private final LocalPipelane server;
  private final Map<Role, Run> callers;

  /** Takes charge of a server that has both models. */
  SwitchedWay(LocalPipelane server, AskedModel background, AskedModel inference) {
    this.server = server;
    callers =
        Map.of(
            Role.BACKGROUND, server.caller(background, Priority.ONLINE),
            Role.INFERENCE, server.caller(inference, Priority.ONLINE));
  }

  @Override
  public Run begin(Role role) {
    return callers.getOrDefault(role, () -> {});
  }

  @Override
  public void end() {
    // Its weights stay until the other's need the room.
  }

  @Override
  public long movedBytes() {
    TransferCounters transfers = server.transfers();
    return transfers.bytesLoaded() + transfers.bytesFetchedAhead();
  }

  @Override
  public void close() {
    server.close();
  }
}
