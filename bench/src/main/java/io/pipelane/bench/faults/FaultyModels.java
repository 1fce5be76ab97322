package io.pipelane.bench.faults;

import io.pipelane.bench.faults.Clients.Asked;
import io.pipelane.bench.model.ChainModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The models that are asked while workers have their faults: three, of which one keeps state. */
final class FaultyModels {
  static final List<Asked> ONLINE =
      List.of(new Asked("chain0", 1), new Asked("chain1", 1), new Asked("sums", 8));
  static final List<Asked> OFFLINE = List.of(new Asked("offline", 1));

  private FaultyModels() {}

  /**
   * Writes them into a repository.
   *
   * @param withOffline the offline one, too
   * @param ownTenants whether each belongs to a tenant of its own
   */
  static void write(Path repository, boolean withOffline, boolean ownTenants) throws IOException {
    long seed = 0;
    for (Asked model : ONLINE) {
      write(repository, model, seed++, ownTenants, "");
    }
    for (Asked model : withOffline ? OFFLINE : List.<Asked>of()) {
      write(repository, model, seed++, ownTenants, "priority: offline\n");
    }
  }

  private static void write(
      Path repository, Asked model, long seed, boolean ownTenant, String priority)
      throws IOException {
    String name = model.name();
    String state = "";
    if (model.keepsState()) {
      ChainModel.writeWithState(repository, name, seed);
      state = ChainModel.STATE;
    } else {
      ChainModel.write(repository, name, seed);
    }
    String tenant = ownTenant ? "tenant: of-" + name + "\n" : "";
    Files.writeString(repository.resolve(name).resolve("pipelane.yaml"), tenant + priority + state);
  }
}
