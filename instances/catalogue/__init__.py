"""Facts about real GPUs, models, regions and networks, each row of the data files with its source."""

from instances.catalogue.gpus import GpuType, gpu_type, gpu_types
from instances.catalogue.models import model, model_names, published_parameters
from instances.catalogue.networks import Campaign, campaign
from instances.catalogue.regions import RegionFacts, region

__all__ = [
    "Campaign",
    "GpuType",
    "RegionFacts",
    "campaign",
    "gpu_type",
    "gpu_types",
    "model",
    "model_names",
    "published_parameters",
    "region",
]
