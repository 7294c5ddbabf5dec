"""Which kind of model an objective needs."""

from sanne.config import Config
from sanne.errors import import_extra
from sanne.model.hidden import HiddenModel
from sanne.model.model import Model


def model_kind(config: Config) -> type[Model]:
    """The class for the setting `objective`, whose settings are checked: all but `hidden` are trained on walks."""
    if config.objective.objective == HiddenModel.name:
        return HiddenModel
    import_extra("torch", "paper", "the walk transformer of the recipe 'paper'")
    from sanne.paper.objective import objective_kind
    from sanne.paper.walk_model import WalkModel

    objective_kind(config)
    return WalkModel
